// The words that the programs of tests/acceptance/promises take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "tests/sim/scenario.h"

namespace paceline::testing {

struct ProgramWords {
  std::string program;
  std::uint64_t count = 0;  ///< of worlds
  int workers = 2;
  std::optional<std::uint64_t> seed;  ///< this world alone
  std::optional<Scenario> scenario;   ///< this one alone, where `takes_scenario`
  std::string over;                   ///< one of `roads`; empty: not said
  int min_ranks = 2;                  ///< of a world, where `takes_min_ranks`
};

struct ProgramForm {
  ProgramWords defaults;
  std::uint64_t quick_count = 0;  ///< with --quick
  bool takes_scenario = false;
  bool takes_min_ranks = false;
  std::vector<std::string> roads;  ///< between ranks, to choose from
};

/// Seeds 1 to words.count, then the one that PACELINE_EXTRA_SEED names; or words.seed alone.
std::vector<std::uint64_t> seeds_of(const ProgramWords& words);

/// From main()'s arguments; the error has the usage with it.
Result<ProgramWords> parse_program_words(int argc, char** argv, const ProgramForm& form);

}  // namespace paceline::testing
