// What is written of a machine and read again is what was read before, in every form.
//
//   forms_say_what_was_read [--quick] [--seed N] [--machines N]
//
// Machines are drawn by lot: packages, NUMA nodes of all kinds, caches, cores, withheld CPUs, PCIe
// bridges, GPUs, NICs, links, stated paths, odd names, and fields that are not known. Each is
// written as JSON, NCCL's XML and hwloc's XML, and read again. A fact that does not come back is
// one that the form's list of what it leaves out names, and that list names no other. Nothing comes
// back that was not there.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "comm/base/clock.h"
#include "comm/base/text.h"
#include "tests/unit/topology/form_check.h"
#include "tests/unit/topology/random_machine.h"

namespace paceline::topology {
namespace {

struct Tried {
  std::uint64_t machines = 0;
  std::uint64_t facts = 0;
  std::uint64_t wrong = 0;
};

void try_one(std::uint64_t seed, Tried& tried) {
  constexpr std::uint64_t kMostShown = 20;
  const HostModel host = random_machine(seed);
  bool is_right = true;
  for (const Form& form : kForms) {
    FormCheck check(host, form);
    tried.facts += check.facts();
    for (const std::string& fault : check.faults()) {
      is_right = false;
      if (tried.wrong < kMostShown)
        std::printf("FAILED: seed %llu as %s: %s\n", static_cast<unsigned long long>(seed),
                    std::string(form.name).c_str(), fault.c_str());
    }
  }
  ++tried.machines;
  tried.wrong += is_right ? 0 : 1;
}

int try_all(std::uint64_t first, std::uint64_t machines, Duration patience) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, patience);
  Tried tried;
  for (std::uint64_t i = 0; i < machines && !deadline.passed(clock.now()); ++i)
    try_one(first + i, tried);
  std::printf("%llu of %llu machines come back from each of %zu forms, with %llu facts in all\n",
              static_cast<unsigned long long>(tried.machines - tried.wrong),
              static_cast<unsigned long long>(tried.machines), kForms.size(),
              static_cast<unsigned long long>(tried.facts));
  return tried.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace paceline::topology

int main(int argc, char** argv) {
  std::chrono::seconds patience{300};
  std::uint64_t seed = 1000000, machines = UINT64_MAX;
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--quick") {
      patience = std::chrono::seconds(10);
    } else if (words[i] == "--seed" && i + 1 < words.size()) {
      seed = paceline::parse_number<std::uint64_t>(words[++i]).value_or(seed);
    } else if (words[i] == "--machines" && i + 1 < words.size()) {
      machines = paceline::parse_number<std::uint64_t>(words[++i]).value_or(machines);
    } else {
      std::fputs("usage: forms_say_what_was_read [--quick] [--seed N] [--machines N]\n", stderr);
      return 2;
    }
  }
  std::printf("seeds from %llu (repeat with --seed)\n", static_cast<unsigned long long>(seed));
  return paceline::topology::try_all(seed, machines, patience);
}
