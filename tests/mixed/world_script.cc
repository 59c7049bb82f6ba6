#include "tests/mixed/world_script.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "tests/mixed/act.h"

namespace paceline::testing::mixed {
namespace {

constexpr std::uint64_t kMostRanks = 6;
constexpr std::uint64_t kMostLanes = 3;

const std::string& one_of(Random& random, const std::vector<std::string>& all) {
  return all[random.below(all.size())];
}

// Each rank in a process of its own, all in one, or some together.
std::vector<int> draw_processes(Random& random, int ranks, bool is_launched) {
  std::vector<int> process_of;
  const std::uint64_t layout = is_launched ? 0 : random.below(4);
  for (int rank = 0, process = -1; rank < ranks; ++rank) {
    if (rank == 0 || layout < 2 || (layout == 2 && random.below(2) == 0)) ++process;
    process_of.push_back(process);
  }
  return process_of;
}

std::vector<std::pair<std::string, std::string>> draw_environment(Random& random) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto may_set = [&](const char* name, const std::vector<std::string>& values) {
    if (random.below(2) == 0) all.emplace_back(name, one_of(random, values));
  };
  may_set("PACELINE_BACKEND", {"tcp", "tcp", "shm"});
  may_set("PACELINE_SHM_METHOD", {"eager", "gathered", "pipelined", "zero_copy"});
  may_set("PACELINE_SEGMENT_BYTES", {"1024", "65536"});
  // These reduce in any order, which placement_stable does not allow.
  if (random.below(4) == 0)
    all.emplace_back("PACELINE_ALGORITHM",
                     one_of(random, {"ring", "recursive_doubling", "direct", "binomial"}));
  else
    may_set("PACELINE_DETERMINISM", {"run_stable", "placement_stable"});
  all.emplace_back("PACELINE_LOG_LEVEL", "error");
  return all;
}

LaneScript draw_lane(Random& random, int ranks) {
  LaneScript lane{.is_in_c = random.below(3) == 0};
  const std::uint64_t colors = random.below(3) == 0 ? 2 : 1;
  for (int rank = 0; rank < ranks; ++rank) {
    lane.colors.push_back(static_cast<int>(random.below(colors)));
    lane.keys.push_back(static_cast<int>(random.below(4)) - 2);
  }
  return lane;
}

Ending draw_ending(Random& random, const WorldScript& script) {
  if (script.ranks == 1 || random.below(2) == 0) return {};
  const bool is_one_process = script.processes() == 1;
  Ending ending{
      .kind = static_cast<Ending::Kind>(is_one_process ? 4 + random.below(2) : 1 + random.below(5)),
      .rank = static_cast<int>(random.below(static_cast<std::uint64_t>(script.ranks))),
      .lane = random.below(script.lanes.size()),
      .act = random.below(script.acts)};
  return ending;
}

const char* name(Ending::Kind kind) {
  constexpr const char* kNames[] = {"nothing ends", "ends by SIGKILL", "calls _exit()",
                                    "calls exit()", "aborts it",       "destroys it"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace

std::vector<int> WorldScript::members(std::size_t lane, int rank) const {
  const auto& [is_in_c, colors, keys] = lanes[lane];
  std::vector<int> found;
  for (int other = 0; other < ranks; ++other)
    if (colors[static_cast<std::size_t>(other)] == colors[static_cast<std::size_t>(rank)])
      found.push_back(other);
  std::ranges::stable_sort(
      found, {}, [&keys = keys](int other) { return keys[static_cast<std::size_t>(other)]; });
  return found;
}

std::vector<int> WorldScript::victims(std::size_t lane) const {
  if (ending.kind == Ending::Kind::kNone) return {};
  if (!ending.is_of_process())
    return lane == ending.lane ? std::vector<int>{ending.rank} : std::vector<int>();
  const auto process = [&](int rank) { return process_of[static_cast<std::size_t>(rank)]; };
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank)
    if (process(rank) == process(ending.rank)) all.push_back(rank);
  return all;
}

WorldScript draw_world(std::uint64_t seed, std::uint64_t acts) {
  Random random(seed);
  WorldScript script{.seed = seed, .ranks = static_cast<int>(1 + random.below(kMostRanks))};
  script.acts = acts;
  script.is_launched = random.below(10) == 0;
  script.process_of = draw_processes(random, script.ranks, script.is_launched);
  script.environment = draw_environment(random);
  for (std::uint64_t left = 1 + random.below(kMostLanes); left > 0; --left)
    script.lanes.push_back(draw_lane(random, script.ranks));
  for (int process = 0; process <= script.process_of.back(); ++process) {
    script.timer_us.push_back(random.below(3) == 0 ? static_cast<int>(100 << random.below(8)) : 0);
    script.fork_permille.push_back(random.below(3) == 0 ? 20 : 0);
  }
  script.ending = draw_ending(random, script);
  return script;
}

std::string to_text(const WorldScript& script) {
  std::string text = std::to_string(script.ranks) + " ranks in " +
                     std::to_string(script.processes()) +
                     (script.is_launched ? " processes of paceline run:" : " processes:");
  for (const int process : script.process_of) text += " " + std::to_string(process);
  for (std::size_t process = 0; process < script.timer_us.size(); ++process)
    text += "; SIGALRM every " + std::to_string(script.timer_us[process]) + " us, " +
            std::to_string(script.fork_permille[process]) + " forks in 1000 acts";
  text += "\n ";
  for (const auto& [name, value] : script.environment) text += " " + name + "=" + value;
  for (std::size_t lane = 0; lane < script.lanes.size(); ++lane) {
    text += "\n  lane " + std::to_string(lane) +
            (script.lanes[lane].is_in_c ? " in C, color/key of ranks:" : ", color/key of ranks:");
    for (std::size_t rank = 0; rank < script.lanes[lane].colors.size(); ++rank)
      text += " " + std::to_string(script.lanes[lane].colors[rank]) + "/" +
              std::to_string(script.lanes[lane].keys[rank]);
  }
  if (script.ending.kind == Ending::Kind::kNone) return text;
  return text + "\n  before act " + std::to_string(script.ending.act) + " of lane " +
         std::to_string(script.ending.lane) + " rank " + std::to_string(script.ending.rank) + " " +
         name(script.ending.kind);
}

}  // namespace paceline::testing::mixed
