// Proves every algorithm for 1 to 64 ranks, then breaks plans on purpose: the checker must refuse
// each mutant, unless it does the same as the plan it was made from.
//
//   plan_checker [--quick] [--seed N]
//   plan_checker --seed N --replay ALGORITHM CLASS NUMBER
//
// What "does the same" means is shown without the checker: the mutant has the form of the original
// (tests/harness/plan_form.h), or it gives the right result in many unkind executions
// (tests/harness/plan_interpreter.h). Anything else has escaped, and the program ends with 1.
// Mutants that were refused are executed a few times too: the column `wrong` says how many of them
// are seen to fail.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algo/algorithms.h"
#include "collectives/proof/check.h"
#include "comm/base/random.h"
#include "tests/harness/plan_form.h"
#include "tests/harness/plan_interpreter.h"
#include "tests/harness/plan_mutation.h"

namespace paceline {
namespace {

using testing::MutationClass;

constexpr int kMostRanks = 64;

struct Size {
  std::size_t count;
  std::size_t segment_count;
};

// The first kQuickSizes have few segments.
constexpr Size kSizes[] = {{0, 1},     {1, 1},           {2, 1},    {13, 2},
                           {97, 1000}, {64, 64},         {97, 50},  {1009, 100},
                           {4096, 64}, {1000003, 20000}, {1009, 7}, {1000003, 4096}};
constexpr std::size_t kQuickSizes = 8;

struct Options {
  std::string program = "plan_checker";
  std::uint64_t seed = 1;
  std::span<const Size> sizes = kSizes;
  std::size_t count_from_every_root = 0;  // the least
  std::size_t mutants = 5000;             // per algorithm and class
  int runs_to_clear = 200;                // executions of a mutant that was not refused
  int runs_to_confirm = 8;                // executions of one that was
};

// "all_reduce/ring"
std::string name_of(const Algorithm& algorithm) {
  return std::string(name(algorithm.kind)) + "/" + std::string(algorithm.name);
}

std::vector<PlanRequest> proof_requests(const Algorithm& algorithm, int ranks,
                                        const Options& options) {
  std::vector<PlanRequest> requests;
  for (const Size& size : options.sizes) {
    PlanRequest request{.kind = algorithm.kind, .ranks = ranks};
    request.segment_count = size.segment_count;
    request.count = testing::count_of_call(request, size.count);
    if (request.count == 0 && size.count > 0) continue;
    const bool any_root =
        has_root(algorithm.kind) && size.count >= options.count_from_every_root && size.count < 50;
    for (request.root = 0; request.root < (any_root ? ranks : 1); ++request.root) {
      requests.push_back(request);
    }
  }
  return requests;
}

/// How many sets of plans were proven; nothing, after saying why, if one is wrong.
std::optional<std::size_t> prove(const Algorithm& algorithm, const Options& options) {
  std::size_t proven = 0;
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    for (const PlanRequest& request : proof_requests(algorithm, ranks, options)) {
      const std::vector<PlanRequest> requests = testing::uneven_requests(request);
      const std::vector<Plan> plans = plans_of(algorithm, requests);
      const Status status = check(plans, requests);
      const auto measured = measure(plans, request.hosts);
      const bool priced = measured.ok() && testing::is_price(algorithm.cost(requests.front()),
                                                             *measured, request.kind);
      ++proven;
      if (status.ok() && priced) continue;
      std::printf("%s, %d ranks, count %zu, segments of %zu, root %d: %s\n",
                  name_of(algorithm).c_str(), ranks, request.count, request.segment_count,
                  request.root,
                  status.ok() ? "costs differ from the formula" : status.to_string().c_str());
      return std::nullopt;
    }
  }
  return proven;
}

struct Mutant {
  std::vector<PlanRequest> requests;
  std::vector<Plan> original;
  std::vector<Plan> plans;
  std::string words;
};

Random random_of(const Options& options, const Algorithm& algorithm, MutationClass what,
                 std::size_t number) {
  Random random(options.seed);
  const auto row = static_cast<std::uint64_t>(&algorithm - algorithms().data());
  for (const std::uint64_t each : {row, static_cast<std::uint64_t>(what), std::uint64_t{number}}) {
    random = Random(random.next() + each);
  }
  return random;
}

PlanRequest small_request(const Algorithm& algorithm, Random& random) {
  PlanRequest request{.kind = algorithm.kind};
  request.ranks = 1 + static_cast<int>(random.below(8));
  if (has_root(request.kind))
    request.root = static_cast<int>(random.below(static_cast<std::uint64_t>(request.ranks)));
  request.count = testing::count_of_call(request, static_cast<std::size_t>(random.below(30)));
  request.segment_count = 1 + static_cast<std::size_t>(random.below(10));
  return request;
}

// Some requests leave no place for a fault: one rank has no messages.
constexpr int kTries = 32;

/// Nothing if the algorithm's plans offer no place for such a fault.
std::optional<Mutant> make_mutant(const Algorithm& algorithm, MutationClass what, Random& random) {
  for (int i = 0; i < kTries; ++i) {
    Mutant mutant{.requests = testing::uneven_requests(small_request(algorithm, random)),
                  .original{},
                  .plans{},
                  .words{}};
    mutant.original = plans_of(algorithm, mutant.requests);
    mutant.plans = mutant.original;
    if (const auto words = testing::mutate(mutant.plans, what, random)) {
      mutant.words = *words;
      return mutant;
    }
  }
  return std::nullopt;
}

struct Verdict {
  Status refused;
  bool same_form = false;
  std::optional<std::string> run;  // what went wrong in an execution

  bool equivalent() const { return same_form || !run; }
  bool escaped() const { return refused.ok() && !equivalent(); }
};

Verdict judge(const Mutant& mutant, const Options& options, Random& random) {
  Verdict verdict{.refused = check(mutant.plans, mutant.requests), .run{}};
  if (verdict.refused.ok()) verdict.same_form = testing::same_form(mutant.original, mutant.plans);
  const bool sure = !verdict.refused.ok() || verdict.same_form;
  const int runs = sure ? options.runs_to_confirm : options.runs_to_clear;
  verdict.run = testing::run_often(mutant.plans, mutant.requests, runs, random);
  return verdict;
}

struct Tally {
  std::size_t generated = 0;
  std::size_t caught = 0;
  std::size_t wrong = 0;  // of those caught
  std::size_t same_form = 0;
  std::size_t ran_right = 0;
  std::size_t escaped = 0;

  void add(const Verdict& verdict) {
    ++generated;
    if (!verdict.refused.ok()) {
      ++caught;
      if (verdict.run) ++wrong;
    } else if (verdict.escaped()) {
      ++escaped;
    } else {
      ++(verdict.same_form ? same_form : ran_right);
    }
  }
  void add(const Tally& other) {
    generated += other.generated;
    caught += other.caught;
    wrong += other.wrong;
    same_form += other.same_form;
    ran_right += other.ran_right;
    escaped += other.escaped;
  }
  void print(std::string_view algorithm, std::string_view what) const {
    std::printf("%-30s %-11s %9zu %9zu %9zu %9zu %9zu %9zu\n", std::string(algorithm).c_str(),
                std::string(what).c_str(), generated, caught, wrong, same_form, ran_right, escaped);
    std::fflush(stdout);
  }
};

Tally try_class(const Algorithm& algorithm, MutationClass what, const Options& options) {
  Tally tally;
  for (std::size_t number = 0; number < options.mutants; ++number) {
    Random random = random_of(options, algorithm, what, number);
    const auto mutant = make_mutant(algorithm, what, random);
    if (!mutant) break;
    const Verdict verdict = judge(*mutant, options, random);
    tally.add(verdict);
    if (!verdict.escaped()) continue;
    const std::string class_name(name(what));
    std::printf("escaped: %s: %s\n  replay: %s --seed %llu --replay %s %s %zu\n",
                mutant->words.c_str(), verdict.run->c_str(), options.program.c_str(),
                static_cast<unsigned long long>(options.seed), name_of(algorithm).c_str(),
                class_name.c_str(), number);
  }
  tally.print(name_of(algorithm), name(what));
  return tally;
}

int replay(const Options& options, std::string_view algorithm_name, std::string_view class_name,
           std::size_t number) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const MutationClass what : testing::kMutationClasses) {
      if (name_of(algorithm) != algorithm_name || name(what) != class_name) continue;
      Random random = random_of(options, algorithm, what, number);
      const auto mutant = make_mutant(algorithm, what, random);
      if (!mutant) break;
      const Verdict verdict = judge(*mutant, options, random);
      const PlanRequest& request = mutant->requests.front();
      std::printf(
          "%d ranks, count %zu, segments of %zu, root %d\n%s\nchecker: %s\nform: %s\nrun: %s\n",
          request.ranks, request.count, request.segment_count, request.root, mutant->words.c_str(),
          verdict.refused.to_string().c_str(), verdict.same_form ? "the same" : "another",
          verdict.run ? verdict.run->c_str() : "right");
      return verdict.escaped() ? 1 : 0;
    }
  }
  std::fprintf(stderr, "there is no such mutant\n");
  return 2;
}

int run(const Options& options) {
  std::size_t proven = 0;
  for (const Algorithm& algorithm : algorithms()) {
    const auto sets = prove(algorithm, options);
    if (!sets) return 1;
    proven += *sets;
    std::printf("%-30s proven for 1 to %d ranks: %zu sets of plans\n", name_of(algorithm).c_str(),
                kMostRanks, *sets);
    std::fflush(stdout);
  }
  std::printf("\n%-30s %-11s %9s %9s %9s %9s %9s %9s\n", "algorithm", "class", "generated",
              "caught", "(wrong)", "same form", "ran right", "escaped");
  Tally total;
  for (const MutationClass what : testing::kMutationClasses) {
    Tally of_class;
    for (const Algorithm& algorithm : algorithms()) {
      of_class.add(try_class(algorithm, what, options));
    }
    of_class.print("all", name(what));
    total.add(of_class);
  }
  std::printf(
      "%zu algorithms proven for 1 to %d ranks (%zu sets of plans); %zu mutants: %zu caught, "
      "%zu equivalent, %zu escaped (seed %llu)\n",
      algorithms().size(), kMostRanks, proven, total.generated, total.caught,
      total.same_form + total.ran_right, total.escaped,
      static_cast<unsigned long long>(options.seed));
  return total.escaped == 0 ? 0 : 1;
}

int usage() {
  std::fprintf(stderr,
               "usage: plan_checker [--quick] [--seed N] [--replay ALGORITHM CLASS NUMBER]\n");
  return 2;
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  paceline::Options options;
  options.program = argv[0];
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--quick") {
      options.mutants = 200;
      options.count_from_every_root = 13;
      options.sizes = options.sizes.first(paceline::kQuickSizes);
    } else if (words[i] == "--seed" && i + 1 < words.size()) {
      options.seed = std::strtoull(words[++i].c_str(), nullptr, 10);
    } else if (words[i] == "--replay" && i + 3 < words.size()) {
      return paceline::replay(options, words[i + 1], words[i + 2],
                              std::strtoull(words[i + 3].c_str(), nullptr, 10));
    } else {
      return paceline::usage();
    }
  }
  return paceline::run(options);
}
