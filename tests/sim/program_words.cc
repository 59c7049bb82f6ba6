#include "tests/sim/program_words.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <vector>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "tests/sim/scenario_text.h"
#include "tests/sim/workers.h"

namespace paceline::testing {
namespace {

Status wrong(const std::string& why, const ProgramForm& form) {
  std::string text =
      why + "\nusage: " + form.defaults.program + " [--quick] [--count N] [--workers N] [--seed N]";
  if (form.takes_scenario) text += " [--scenario TEXT]";
  if (form.takes_min_ranks) text += " [--min-ranks 2..5]";
  for (const std::string& road : form.roads)
    text += (road == form.roads.front() ? " [--over " : "|") + road;
  if (!form.roads.empty()) text += "]";
  return Status(Code::kInvalidArgument, Scope::kProcess, text);
}

template <class Number, class Into>
bool read(std::string_view text, Into& into) {
  const auto number = parse_number<Number>(text);
  if (number) into = *number;
  return number.has_value();
}

Status take_value(const std::string& name, const std::string& value, const ProgramForm& form,
                  ProgramWords& words) {
  bool good = false;
  if (name == "--count") good = read<std::uint64_t>(value, words.count);
  if (name == "--seed") good = read<std::uint64_t>(value, words.seed);
  if (name == "--workers") {
    good = read<int>(value, words.workers) && words.workers >= 1 && words.workers <= kMostWorkers;
  }
  if (name == "--scenario" && form.takes_scenario) {
    PACELINE_TRY_ASSIGN(words.scenario, parse_scenario(value));
    good = true;
  }
  if (name == "--min-ranks" && form.takes_min_ranks) {
    good = read<int>(value, words.min_ranks) && words.min_ranks >= 2 && words.min_ranks <= 5;
  }
  if (name == "--over") {
    words.over = value;
    good = std::ranges::count(form.roads, value) > 0;
  }
  return good ? Status() : wrong("wrong: " + name + " " + value, form);
}

}  // namespace

std::vector<std::uint64_t> seeds_of(const ProgramWords& words) {
  if (words.seed) return {*words.seed};
  std::vector<std::uint64_t> all(words.count);
  std::iota(all.begin(), all.end(), std::uint64_t{1});
  const char* const extra = std::getenv("PACELINE_EXTRA_SEED");
  if (extra == nullptr) return all;
  if (const auto seed = parse_number<std::uint64_t>(extra)) all.push_back(*seed);
  return all;
}

Result<ProgramWords> parse_program_words(int argc, char** argv, const ProgramForm& form) {
  ProgramWords words = form.defaults;
  words.program = argv[0];
  const std::vector<std::string> all(argv + 1, argv + argc);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == "--quick") {
      words.count = form.quick_count;
    } else if (i + 1 < all.size()) {
      PACELINE_TRY(take_value(all[i], all[i + 1], form, words));
      ++i;
    } else {
      return wrong("unknown or without its value: " + all[i], form);
    }
  }
  return words;
}

}  // namespace paceline::testing
