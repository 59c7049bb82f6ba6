// Draws machines and rules by lot, and maps ranks by them as mpirun of Open MPI 4.1 does.
//
//   mapping_is_that_of_open_mpi [--quick] [--seed N]
//
// mpirun reads each machine as hwloc's XML, and says what it would start where, and bound to what;
// where it refuses rules, ours are refused too. Left out is what differs on purpose, which
// tests/unit/topology/mapping_test.cc names, and on several hosts what is bound to NUMA nodes: as
// mpirun starts nothing, those hosts are one topology to it, whose nodes keep the ranks of the host
// before.
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <signal.h>
#include <stdlib.h>

#include "comm/base/random.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "tests/unit/topology/plain_machine.h"
#include "topology/placement/rules/mapping.h"
#include "topology/render/render.h"

namespace paceline::topology {
namespace {

constexpr int kSkip = 77;
constexpr std::array kMachines{
    PlainMachine{.packages = 2, .nodes = 2, .cores = 2, .threads = 2},
    PlainMachine{.packages = 2, .caches = 2, .cores = 3, .threads = 1},
    PlainMachine{.packages = 1, .nodes = 4, .cores = 2, .threads = 4},
    PlainMachine{.packages = 2, .cores = 4, .is_interleaved = true},
    PlainMachine{.packages = 1, .caches = 2, .cores = 2, .threads = 8},
};
constexpr std::array<std::string_view, 7> kUnits{"slot", "node",     "socket", "numa",
                                                 "core", "hwthread", "l3cache"};

volatile sig_atomic_t is_over = 0;

// What one asks for; options stand as they do in a command line.
struct Case {
  std::size_t machine = 0;
  int hosts = 1;
  int slots = 64;  // of each
  int ranks = 1;
  std::string map_by;
  std::string rank_by;
  std::string bind_to;

  std::string options() const {
    std::string text;
    for (const auto& [name, value] :
         {std::pair(" --map-by ", map_by), {" --rank-by ", rank_by}, {" --bind-to ", bind_to}})
      if (!value.empty()) text += name + value;
    return text;
  }
};

std::string unit(Random& random) { return std::string(kUnits[random.below(kUnits.size())]); }

std::string drawn_map_by(Random& random, bool has_room) {
  const std::string by = unit(random);
  if (has_room && by != "slot" && random.chance(0.2))
    return "ppr:" + std::to_string(1 + random.below(3)) + ":" + by;
  return random.chance(0.2) ? by + ":PE=" + std::to_string(1 + random.below(3)) : by;
}

std::string drawn_bind_to(Random& random, bool is_stated) {
  if (!is_stated && random.chance(0.4)) return "";
  std::string bind_to = unit(random);
  while (bind_to == "slot" || bind_to == "node" || (is_stated && bind_to == "numa"))
    bind_to = unit(random);
  if (random.chance(0.1)) return "none";
  return bind_to + (random.chance(0.5) ? ":overload-allowed" : "");
}

Case drawn(Random& random) {
  Case one{.machine = random.below(kMachines.size())};
  if (random.chance(0.4)) {
    one.hosts = 3;
    one.slots = 2 + static_cast<int>(random.below(6));
  }
  const bool is_alone = one.hosts == 1;
  const int most = is_alone ? 20 : one.hosts * one.slots;
  one.ranks = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(most)));
  one.map_by = drawn_map_by(random, is_alone);
  if (random.chance(0.5)) one.rank_by = unit(random);
  if (!one.rank_by.empty() && random.chance(0.4))
    one.rank_by += random.chance(0.5) ? ":span" : ":fill";
  one.bind_to = drawn_bind_to(random, !is_alone);
  // Ours goes around the machine where mpirun has come to its end.
  if (one.map_by.find("PE=") != std::string::npos)
    one.bind_to = one.bind_to.substr(0, one.bind_to.find(':'));
  return one;
}

std::string host_name(int host) { return std::string(1, static_cast<char>('a' + host)); }

// By rank "a:0-3", or "a:-" where it is not bound; nothing where it is refused.
using Answer = std::optional<std::string>;

Result<MappingRules> rules_of(const Case& one) {
  MappingRules rules;
  PACELINE_TRY(parse_map_by(one.map_by, rules));
  if (!one.rank_by.empty()) PACELINE_TRY(parse_rank_by(one.rank_by, rules));
  if (!one.bind_to.empty()) PACELINE_TRY(parse_bind_to(one.bind_to, rules));
  return rules;
}

Answer our_answer(const Case& one) {
  Cluster cluster{.machines = {plain_machine(kMachines[one.machine])}};
  for (int i = 0; i < one.hosts; ++i) cluster.hosts.push_back({.name = host_name(i)});
  const std::vector<int> slots(cluster.hosts.size(), one.slots);
  const auto rules = rules_of(one);
  if (!rules.ok()) return std::nullopt;
  const auto plan = map_ranks(cluster, {.ranks = one.ranks}, slots, *rules);
  if (!plan.ok()) return std::nullopt;
  std::string text;
  for (const Placed& rank : plan->ranks)
    text += " " + host_name(rank.host) + ":" +
            (rank.seat.cpus.is_empty() ? "-" : rank.seat.cpus.to_text());
  return text;
}

// Reads what mpirun tells while it maps and after it has.
class Telling {
 public:
  void read(const std::string& line) {
    if (const auto host = behind(line, "Data for node: ")) host_ = host->substr(0, 1);
    if (const auto rank = behind(line, "Data for proc: ")) hosts_[number(*rank)] = host_;
    if (line.find("Binding policy: NONE") != std::string::npos) is_bound_ = false;
    if (line.find("BINDING PROC") != std::string::npos) return;  // before it has found where
    const auto process = behind(line, "PROC [[");
    for (const std::string_view mark : {" BITMAP ", " TO "})
      if (const auto cpus = behind(line, mark); process && cpus && !cpus->empty())
        cpus_.try_emplace(number(*process), cpus->substr(0, cpus->find_first_of("[ \n")));
  }

  Answer answer() const {
    if (hosts_.empty()) return std::nullopt;
    std::string text;
    for (const auto& [rank, host] : hosts_) {
      const auto cpus = cpus_.find(rank);
      text += " " + host + ":" + (cpus == cpus_.end() || !is_bound_ ? "-" : cpus->second);
    }
    return text;
  }

 private:
  static std::optional<std::string> behind(const std::string& line, std::string_view mark) {
    const std::size_t found = line.find(mark);
    if (found == std::string::npos) return std::nullopt;
    return line.substr(found + mark.size());
  }

  // A process is "[[27000,1],5]": the rank is 5.
  static int number(const std::string& process) {
    const std::size_t begin = process.find("],") + 2;
    const std::size_t end = process.find(']', begin);
    return parse_number<int>(process.substr(begin, end - begin)).value_or(-1);
  }

  std::string host_;
  std::map<int, std::string> hosts_, cpus_;
  bool is_bound_ = true;
};

// Calls `take` with each line that a command of the shell prints.
template <class Take>
void run(const std::string& command, Take take) {
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return;
  std::array<char, 4096> buffer;
  std::string line;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
    line += buffer.data();
    if (line.back() != '\n') continue;
    take(line);
    line.clear();
  }
  ::pclose(pipe);
}

// The machines as files, which go when it does.
class Folder {
 public:
  Folder() {
    path_ = (std::filesystem::temp_directory_path() / "paceline-mapping-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) return;
    for (std::size_t i = 0; i < kMachines.size(); ++i)
      std::ofstream(file(i)) << hwloc_xml_text(plain_machine(kMachines[i]));
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(std::size_t machine) const {
    return path_ + "/" + std::to_string(machine) + ".xml";
  }

 private:
  std::string path_;
};

std::string command_of(const Case& one, const Folder& folder) {
  std::string hosts;
  for (int i = 0; i < one.hosts; ++i)
    hosts += (i == 0 ? "" : ",") + host_name(i) + ":" + std::to_string(one.slots);
  return "TMPDIR=" + folder.path() +
         " mpirun --do-not-launch --novm --display-devel-map --mca rmaps_base_verbose 10" +
         " --mca hwloc_base_topo_file " + folder.file(one.machine) + " -H " + hosts + " -np " +
         std::to_string(one.ranks) + one.options() + " true 2>&1 </dev/null";
}

// Says what is different.
bool is_same(const Case& one, const Folder& folder) {
  const std::string command = command_of(one, folder);
  Telling telling;
  run(command, [&](const std::string& line) { telling.read(line); });
  const Answer ours = our_answer(one), theirs = telling.answer();
  if (ours == theirs || is_over != 0) return true;
  std::printf("on machine %zu: %s\n  mpirun: %s\n  ours:   %s\n", one.machine, command.c_str(),
              theirs.value_or(" refused").c_str(), ours.value_or(" refused").c_str());
  return false;
}

bool has_open_mpi_4_1() {
  bool has = false;
  run("mpirun --version 2>&1", [&](const std::string& line) {
    has = has || line.find("(Open MPI) 4.1.") != std::string::npos;
  });
  return has;
}

int compare(int cases, std::uint64_t seed) {
  if (!has_open_mpi_4_1()) {
    std::puts("mpirun of Open MPI 4.1 is not installed");
    return kSkip;
  }
  for (const int number : {SIGINT, SIGTERM}) ::signal(number, [](int) { is_over = 1; });
  const Folder folder;
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  ::setenv("OMPI_MCA_orte_tmpdir_base", folder.path().c_str(), 1);  // it leaves files there
  Random random(seed);
  int done = 0, different = 0;
  for (; done < cases && is_over == 0; ++done) different += is_same(drawn(random), folder) ? 0 : 1;
  std::printf("%d of %d rules mapped ranks otherwise than mpirun; seed %llu\n", different, done,
              static_cast<unsigned long long>(seed));
  return different == 0 && is_over == 0 ? 0 : 1;
}

}  // namespace
}  // namespace paceline::topology

int main(int argc, char** argv) {
  int cases = 600;
  std::uint64_t seed = 1;
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--quick") {
      cases = 30;
    } else if (words[i] == "--seed" && i + 1 < words.size()) {
      seed = paceline::parse_number<std::uint64_t>(words[++i]).value_or(1);
    } else {
      std::fputs("usage: mapping_is_that_of_open_mpi [--quick] [--seed N]\n", stderr);
      return 2;
    }
  }
  return paceline::topology::compare(cases, seed);
}
