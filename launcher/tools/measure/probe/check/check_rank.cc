#include "launcher/tools/measure/probe/check/check_rank.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/base/cgroup.h"
#include "comm/base/clock.h"
#include "comm/base/environment.h"
#include "comm/base/random.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/connectivity/host_facts.h"
#include "launcher/connectivity/measurements.h"
#include "launcher/tools/measure/probe/check/control.h"
#include "launcher/tools/measure/probe/check/copy_speed.h"
#include "launcher/tools/measure/probe/check/cpu_use.h"
#include "launcher/tools/measure/probe/check/link.h"
#include "launcher/tools/measure/probe/check/pair_probe.h"
#include "launcher/tools/measure/probe/check/pulse.h"
#include "launcher/tools/measure/probe/check/reductions.h"
#include "launcher/tools/measure/probe/check/schedule.h"
#include "launcher/tools/measure/probe/loop/statistics.h"

namespace paceline::probe {
namespace {

// A round takes some seconds at most, whatever breaks in it.
constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(30);
// Without a process that keeps them, the driver starts all GPUs first. The other ranks wait.
constexpr Duration kGpuPatience = std::chrono::seconds(20);
constexpr std::chrono::milliseconds kReductionPatience = std::chrono::seconds(30);
constexpr int kOperationsInTime = 4;  // of the longest all-reduce
constexpr int kCopyPart = 2;          // of the time for a host's CPU: for its memory
// On a busy host a thread may be without a CPU for a shorter time.
constexpr Duration kMinStall = std::chrono::seconds(2);
constexpr const char* kAloneAddress = "127.0.0.1";

/// What rank 0 tells all, once it knows who they are.
struct Plan {
  std::array<std::byte, JobKey::kBytes> key{};  // of the links
  std::vector<std::string> addresses;           // of the doors
  std::vector<int> turns;                       // when a host's CPU is measured

  std::string to_text() const {
    std::string text = to_hexadecimal(key);
    for (std::size_t i = 0; i < addresses.size(); ++i)
      text.append("\n").append(std::to_string(turns[i])).append(" ").append(addresses[i]);
    return text;
  }
};

Status garbled() {
  return Status(Code::kInternal, Scope::kProcess, "rank 0's plan of the check cannot be read");
}

Result<Plan> parse_plan(const std::string& text) {
  Plan plan;
  const auto lines = split_words(text, '\n');
  if (lines.empty() || lines[0].size() != 2 * plan.key.size()) return garbled();
  for (std::size_t i = 0; i < plan.key.size(); ++i) {
    int value = 0;
    const char* const digits = lines[0].data() + 2 * i;
    if (std::from_chars(digits, digits + 2, value, 16).ec != std::errc()) return garbled();
    plan.key[i] = static_cast<std::byte>(value);
  }
  for (const std::string_view line : std::span(lines).subspan(1)) {
    const auto words = split_words(line, ' ');
    const auto turn = words.size() == 2 ? parse_number<int>(words[0]) : std::nullopt;
    if (!turn) return garbled();
    plan.turns.push_back(*turn);
    plan.addresses.emplace_back(words[1]);
  }
  return plan;
}

// Rounds as text: "0 1,2 3" and so on, a line each.
std::string to_text(const std::vector<Round>& rounds) {
  std::string text;
  for (const Round& round : rounds) {
    if (!text.empty()) text += '\n';
    for (std::size_t i = 0; i < round.size(); ++i)
      text.append(i == 0 ? "" : ",")
          .append(std::to_string(round[i].first))
          .append(" ")
          .append(std::to_string(round[i].second));
  }
  return text;
}

std::vector<Round> parse_rounds(std::string_view text) {
  std::vector<Round> rounds;
  for (const std::string_view line : split_words(text, '\n')) {
    Round& round = rounds.emplace_back();
    for (const std::string_view pair : split_words(line, ',')) {
      const auto words = split_words(pair, ' ');
      if (words.size() != 2) continue;
      const auto a = parse_number<int>(words[0]), b = parse_number<int>(words[1]);
      if (a && b) round.emplace_back(*a, *b);
    }
  }
  return rounds;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text.append(line).append("\n");
  return text;
}

class CheckRank {
 public:
  CheckRank(Communicator& world, const CheckOrders& orders, GpuReader& gpus)
      : world_(world), control_(world), orders_(orders), gpus_(gpus) {}

  Status run() {
    PACELINE_TRY(world_.set_timeout(kPatience));
    PACELINE_TRY(introduce());
    PACELINE_TRY(measure_cpus());
    PACELINE_TRY(measure_links());
    if (const Status reduced = measure_reductions(); !reduced.ok()) {
      publish(note_line("all-reduce could not be measured: " + reduced.to_string()));
      blame_peer_of(reduced);
      return Status();
    }
    PACELINE_TRY(tell(""));
    return world_.close();
  }

 private:
  // Who is where, and what its kernel says.
  Status introduce() {
    for (const Member& member : world_.group().members) measured_.hosts.push_back(member.host);
    const std::string known = without_port(world_.group().self().address);
    const std::string address =
        known.empty() || known.find('/') != known.npos ? kAloneAddress : known;
    device_ = device_of(address);
    PACELINE_TRY_ASSIGN(const Environment environment, read_environment());
    PACELINE_TRY_ASSIGN(LinkDoor door, LinkDoor::open(address, clock_, environment.port_range));
    const HostFacts facts = read_host_facts("", device_, gpus_.answer(clock_, kGpuPatience));
    const std::string own = with_port(address, door.port()) + "\n" + facts.boot_id + "\n" +
                            to_line(control_.rank(), facts);
    door_.emplace(std::move(door));
    PACELINE_TRY_ASSIGN(const std::vector<std::string> all, control_.gather(own));
    std::string text;
    if (control_.leads()) {
      PACELINE_TRY_ASSIGN(const Plan plan, make_plan(all));
      text = plan.to_text();
    }
    PACELINE_TRY_ASSIGN(text, control_.share(text));
    PACELINE_TRY_ASSIGN(plan_, parse_plan(text));
    return static_cast<int>(plan_.addresses.size()) == control_.size() ? Status() : garbled();
  }

  // Hosts of one kernel, as those of a lab, take turns: they have the same CPUs.
  Result<Plan> make_plan(const std::vector<std::string>& introductions) {
    Plan plan;
    PACELINE_TRY(fill_system_random(plan.key));
    std::map<std::string, int, std::less<>> of_kernel;
    for (const std::string& introduction : introductions) {
      const auto lines = split_words(introduction, '\n');
      // Who does not know its kernel is taken for one of its own; split_words leaves out the empty.
      const bool knows = lines.size() == 3;
      plan.addresses.emplace_back(lines.empty() ? "" : lines[0]);
      plan.turns.push_back(knows ? of_kernel[std::string(lines[1])]++ : 0);
      if (!lines.empty()) publish(std::string(lines.back()));
    }
    return plan;
  }

  Status measure_cpus() {
    const int turns = *std::max_element(plan_.turns.begin(), plan_.turns.end()) + 1;
    for (int turn = 0; turn < turns; ++turn) {
      progress(turn, turns, "CPUs");
      std::string own;
      if (plan_.turns[static_cast<std::size_t>(control_.rank())] == turn)
        own = to_line(Spin{.host = control_.rank(),
                           .cpu = spin(clock_, std::chrono::milliseconds(orders_.spin_ms)),
                           .copied_bytes_per_s = copy_speed(
                               clock_, std::chrono::milliseconds(orders_.spin_ms) / kCopyPart)});
      PACELINE_TRY(tell(own));
    }
    return Status();
  }

  Status measure_links() {
    PACELINE_TRY(measure_rounds(first_rounds(control_.size()), "links"));
    for (int i = 0; i < orders_.again && control_.size() > 1; ++i) {
      std::string text;
      if (control_.leads()) text = to_text(rounds_again(measured_, doublings(control_.size())));
      PACELINE_TRY_ASSIGN(text, control_.share(text));
      if (text.empty()) break;
      PACELINE_TRY(measure_rounds(parse_rounds(text), "slow links again"));
    }
    return Status();
  }

  Status measure_rounds(const std::vector<Round>& rounds, const char* what) {
    const JobKey key = JobKey::from_bytes(plan_.key);
    const PairSite site{.rank = control_.rank(),
                        .addresses = plan_.addresses,
                        .door = *door_,
                        .key = key,
                        .orders = orders_,
                        .clock = clock_,
                        .wall_clock = wall_clock_};
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      progress(static_cast<int>(i), static_cast<int>(rounds.size()), what);
      std::vector<std::string> own;
      for (const Pair& pair : rounds[i])
        if (pair.first == control_.rank() || pair.second == control_.rank())
          own = measure_pair(site, round_, pair);
      ++round_;
      PACELINE_TRY(tell(joined(own)));
    }
    return Status();
  }

  // Also sends the stall since the last call. Returns on all ranks at the same time.
  Status tell(std::string own) {
    if (const Duration stall = pulse_.take_longest(); stall >= kMinStall)
      own.append("\n").append(to_line(
          Stall{.host = control_.rank(), .seconds = std::chrono::duration<double>(stall).count()}));
    PACELINE_TRY_ASSIGN(const std::vector<std::string> all, control_.gather(own));
    for (const std::string& text : all)
      for (const std::string_view line : split_words(text, '\n')) publish(std::string(line));
    return control_.share("").status();
  }

  Status measure_reductions() {
    if (control_.size() < 2 || orders_.reduce_ms == 0) return Status();
    std::string text;
    if (control_.leads()) text = plan_reductions();
    PACELINE_TRY_ASSIGN(text, control_.share(text));
    const auto words = split_words(text, ' ');
    if (words.empty()) return Status();
    const std::vector<int> groups = growing_groups(control_.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
      progress(static_cast<int>(i), static_cast<int>(groups.size()), "all-reduce");
      PACELINE_TRY(measure_group(groups[i], words));
    }
    return Status();
  }

  // The sizes; nothing where it would hang on what is known to be broken.
  std::string plan_reductions() {
    if (!measured_.broken.empty()) {
      publish(note_line("all-reduce is not measured, because some links between hosts are broken"));
      return "";
    }
    std::vector<double> rates;
    for (const Flow& flow : measured_.flows) rates.push_back(flow.bits_per_s);
    const auto time = std::chrono::milliseconds(orders_.reduce_ms) / kOperationsInTime;
    std::string text;
    for (const std::size_t bytes : reduction_sizes(quantile(rates, 0.5), time))
      text.append(text.empty() ? "" : " ").append(std::to_string(bytes));
    return text;
  }

  // A group consists of the first hosts, so its ranks have the same numbers in the world.
  void blame_peer_of(const Status& status) {
    const int peer = status.culprit().rank;
    if (peer < 0 || peer >= control_.size() || peer == control_.rank()) return;
    publish(to_line(Broken{.round = round_,
                           .from = control_.rank(),
                           .to = peer,
                           .why = "all-reduce: " + status.text()}));
  }

  Status measure_group(int hosts, const std::vector<std::string_view>& sizes) {
    const bool takes_part = control_.rank() < hosts;
    PACELINE_TRY_ASSIGN(std::optional<Communicator> group,
                        world_.split(takes_part ? 0 : kNoColor, control_.rank(),
                                     {.timeout_ms = kReductionPatience}));
    for (const std::string_view size : sizes) {
      if (!group) break;
      const ReductionOrder order{.bytes = parse_number<std::size_t>(size).value_or(0),
                                 .time = std::chrono::milliseconds(orders_.reduce_ms),
                                 .device = device_};
      PACELINE_TRY_ASSIGN(const Reduction reduction, measure_reduction(*group, order, clock_));
      publish(to_line(reduction));
    }
    return group ? group->close() : Status();
  }

  void publish(const std::string& line) {
    if (!control_.leads() || line.empty()) return;
    take_line(line, measured_);
    std::puts(line.c_str());
    std::fflush(stdout);
  }

  void progress(int done, int all, const char* what) { publish(progress_line(done, all, what)); }

  Communicator& world_;
  Control control_;
  const CheckOrders orders_;
  GpuReader& gpus_;
  const SystemClock clock_;
  const SystemWallClock wall_clock_;
  std::string device_;
  std::optional<LinkDoor> door_;
  Plan plan_;
  Measurements measured_;  // rank 0 knows all of it
  int round_ = 0;
  Pulse pulse_{clock_};
};

}  // namespace

Status run_check(Communicator& world, const CheckOrders& orders, GpuReader& gpus) {
  return CheckRank(world, orders, gpus).run();
}

}  // namespace paceline::probe
