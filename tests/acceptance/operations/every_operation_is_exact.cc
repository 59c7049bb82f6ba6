// Every operation is exact: over operation, type, op, ranks, count, in place or not, transport, in
// buffers or elsewhere, and C++ or C. In full the product of all; --quick a choice in which every
// two values of two of them meet.
//
//   every_operation_is_exact [--quick]
//
// Ranks are threads that meet by an id, over TCP or shared memory, or simulated. What comes out is
// compared bit by bit, and so is what lies beside the buffers (tests/harness/calls.h).
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "comm/base/random.h"
#include "tests/harness/calls_in_c.h"
#include "tests/harness/plan_form.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

enum class Road { kSimulation, kShm, kTcp };
enum class Language { kCpp, kC };
constexpr const char* kRoads[] = {"simulation", "shm", "tcp"};
constexpr const char* kLanguages[] = {"C++", "C"};
constexpr int kRanks[] = {1, 2, 3, 4, 5, 7, 8, 11, 16};
// Nothing, one, prime, divided by few numbers of ranks, large. Of the longest array of a call.
constexpr std::size_t kCounts[] = {0, 1, 101, 1000, 50021};

// Factors: the values of a case are indices.
enum Factor {
  kKind,
  kType,
  kOp,
  kRankCount,
  kCount,
  kInPlace,
  kRoad,
  kBuffers,
  kLanguage,
  kFactors
};
constexpr std::size_t kSizes[kFactors] = {std::size(kOperationKinds), std::size(kDataTypes),
                                          std::size(kReduceOps),      std::size(kRanks),
                                          std::size(kCounts),         2,
                                          std::size(kRoads),          2,
                                          std::size(kLanguages)};
using Case = std::array<std::size_t, kFactors>;

OperationKind kind_of(const Case& each) { return kOperationKinds[each[kKind]]; }

// close() ends every world anyway, simulated ranks have no ids to meet by, and who shares no memory
// reaches no buffers.
bool can_be(const Case& each) {
  const Road road = static_cast<Road>(each[kRoad]);
  const bool simulated_c =
      road == Road::kSimulation && static_cast<Language>(each[kLanguage]) == Language::kC;
  const bool reaches_none = road != Road::kShm && each[kBuffers] == 1;
  return is_of_all(kind_of(each)) && kind_of(each) != OperationKind::kClose && !simulated_c &&
         !reaches_none;
}

// Two values of two factors.
using Pair = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;

std::vector<Pair> pairs_of(const Case& each) {
  std::vector<Pair> pairs;
  for (std::size_t a = 0; a < kFactors; ++a) {
    for (std::size_t b = a + 1; b < kFactors; ++b) pairs.emplace_back(a, each[a], b, each[b]);
  }
  return pairs;
}

Case random_case(Random& random) {
  Case each{};
  do {
    for (std::size_t factor = 0; factor < kFactors; ++factor)
      each[factor] = static_cast<std::size_t>(random.below(kSizes[factor]));
  } while (!can_be(each));
  return each;
}

// Of some candidates with a missing pair, the one with most of them, until none is missing.
std::vector<Case> all_pairs() {
  constexpr int kCandidates = 50;
  Random random(1);
  std::set<Pair> missing;
  for (int i = 0; i < 100'000; ++i) {
    for (const Pair& pair : pairs_of(random_case(random))) missing.insert(pair);
  }
  std::vector<Case> cases;
  while (!missing.empty()) {
    const auto& [a, a_value, b, b_value] = *missing.begin();
    Case best{};
    std::ptrdiff_t most = 0;
    while (most == 0) {
      for (int i = 0; i < kCandidates; ++i) {
        Case candidate = random_case(random);
        candidate[a] = a_value;
        candidate[b] = b_value;
        if (!can_be(candidate)) continue;
        const std::vector<Pair> pairs = pairs_of(candidate);
        const auto found = std::count_if(pairs.begin(), pairs.end(),
                                         [&](const Pair& pair) { return missing.contains(pair); });
        if (found > most) best = candidate, most = found;
      }
    }
    for (const Pair& pair : pairs_of(best)) missing.erase(pair);
    cases.push_back(best);
  }
  return cases;
}

std::vector<Case> product() {
  std::vector<Case> cases{Case{}};
  for (std::size_t factor = 0; factor < kFactors; ++factor) {
    std::vector<Case> longer;
    for (Case each : cases) {
      for (each[factor] = 0; each[factor] < kSizes[factor]; ++each[factor]) longer.push_back(each);
    }
    cases = std::move(longer);
  }
  // What a kind does not have makes no difference.
  std::erase_if(cases, [](const Case& each) {
    return !can_be(each) || (!reduces(kind_of(each)) && each[kOp] > 0) ||
           (!moves_elements(kind_of(each)) &&
            (each[kType] > 0 || each[kCount] > 0 || each[kBuffers] > 0));
  });
  return cases;
}

Call call_of(const Case& each, std::size_t number) {
  const OperationKind kind = kind_of(each);
  const int ranks = kRanks[each[kRankCount]];
  return {.kind = kind,
          .count = count_of_call({.kind = kind, .ranks = ranks}, kCounts[each[kCount]]),
          .type = kDataTypes[each[kType]],
          .op = kReduceOps[each[kOp]],
          .root = static_cast<int>(number) % ranks,
          .asynchronous = number % 3 == 0,
          .in_place = each[kInPlace] == 1,
          .registered = each[kBuffers] == 1};
}

Status make_in_cpp(Communicator& world, const std::vector<Case>& cases) {
  for (std::size_t number = 0; number < cases.size(); ++number) {
    MadeCall made(call_of(cases[number], number), number, world.rank(), world.size());
    if (Status status = made.check(world); !status.ok()) return status;
  }
  return world.close();
}

Status make_in_c(plComm_t comm, int rank, int ranks, const std::vector<Case>& cases) {
  for (std::size_t number = 0; number < cases.size(); ++number) {
    const Call call = call_of(cases[number], number);
    MadeCall made(call, number, rank, ranks);
    if (call_in_c(comm, call, made) != plSuccess)
      return Status(Code::kInternal, Scope::kOperation, plGetLastError(comm));
    if (Status status = made.verdict(); !status.ok()) return status;
  }
  if (plCommFinalize(comm) == plSuccess) return {};
  return Status(Code::kInternal, Scope::kGroup, plGetLastError(comm));
}

Status meet_in_c(const plUniqueId& id, int rank, int ranks, const std::vector<Case>& cases) {
  plComm_t comm = nullptr;
  if (plCommInitRank(&comm, ranks, id, rank) != plSuccess)
    return Status(Code::kInternal, Scope::kGroup, plGetLastError(nullptr));
  const Status made = make_in_c(comm, rank, ranks, cases);
  plCommDestroy(comm);
  return made;
}

Status meet_in_cpp(const plUniqueId& id, int rank, int ranks, const std::vector<Case>& cases) {
  UniqueId meeting;
  std::copy(std::begin(id.internal), std::end(id.internal),
            reinterpret_cast<char*>(meeting.bytes.data()));
  Result<Communicator> world = Communicator::init(meeting, rank, ranks);
  return world.ok() ? make_in_cpp(*world, cases) : world.status();
}

// One world, and the cases that are its.
Status run_world(int ranks, Road road, Language language, const std::vector<Case>& cases) {
  if (road == Road::kSimulation) {
    return run_ranks({.mode = Mode::kSimulation, .ranks = ranks},
                     [&](Communicator& world) { return make_in_cpp(world, cases); });
  }
  ::setenv("PACELINE_BACKEND", kRoads[static_cast<std::size_t>(road)], 1);
  plUniqueId id;
  if (plGetUniqueId(&id) != plSuccess)
    return Status(Code::kInternal, Scope::kProcess, plGetLastError(nullptr));
  Status failure;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto meet = language == Language::kC ? meet_in_c : meet_in_cpp;
      const Status status = meet(id, rank, ranks, cases);
      const std::lock_guard lock(mutex);
      if (failure.ok()) failure = status.with_context("rank " + std::to_string(rank));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failure;
}

int run(bool quick) {
  using World = std::tuple<int, Road, Language>;
  std::map<World, std::vector<Case>> worlds;
  const std::vector<Case> cases = quick ? all_pairs() : product();
  for (const Case& each : cases) {
    worlds[{kRanks[each[kRankCount]], static_cast<Road>(each[kRoad]),
            static_cast<Language>(each[kLanguage])}]
        .push_back(each);
  }
  for (const auto& [world, its] : worlds) {
    const auto& [ranks, road, language] = world;
    const std::string words = std::to_string(ranks) + " ranks, " +
                              kRoads[static_cast<std::size_t>(road)] + ", " +
                              kLanguages[static_cast<std::size_t>(language)];
    const Status status = run_world(ranks, road, language, its);
    if (!status.ok()) {
      std::printf("FAILED: %s: %s\n", words.c_str(), status.to_string().c_str());
      return 1;
    }
    if (!quick) std::printf("%s: %zu calls\n", words.c_str(), its.size());
    std::fflush(stdout);
  }
  std::printf("%zu calls in %zu worlds of 1 to 16 ranks (%s): all exact\n", cases.size(),
              worlds.size(), quick ? "all pairs" : "the product");
  return 0;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  return paceline::testing::run(argc > 1 && std::string_view(argv[1]) == "--quick");
}
