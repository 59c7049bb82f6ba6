#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/backend/shm/method.h"
#include "collectives/backend/shm/method_report.h"
#include "tests/harness/ranks.h"

namespace paceline::shm {
namespace {

constexpr std::size_t kKibibyte = 1024;
constexpr MethodTerms kTwo{
    .ranks = 2, .cpus = 2, .shares_cpus = false, .has_buffers = true, .post_bytes = 32 * kKibibyte};
constexpr OperationKind kKinds[] = {OperationKind::kBarrier,       OperationKind::kAllReduce,
                                    OperationKind::kClose,         OperationKind::kBroadcast,
                                    OperationKind::kReduceScatter, OperationKind::kAllGather,
                                    OperationKind::kAllToAll};

MethodTerms forced(Method method, MethodTerms terms = kTwo) {
  terms.forced = method;
  return terms;
}
MethodTerms crowded(int ranks) {
  MethodTerms terms = kTwo;
  terms.ranks = ranks;
  terms.shares_cpus = true;
  return terms;
}
Method chosen(OperationKind kind, std::size_t bytes, bool in_buffers, const MethodTerms& terms) {
  return method_of(choose(kind, terms), bytes, in_buffers);
}
Method all_reduce(std::size_t bytes, bool in_buffers, const MethodTerms& terms) {
  return chosen(OperationKind::kAllReduce, bytes, in_buffers, terms);
}

TEST(ShmMethod, ShortIsEagerAndLongGoesInBuffersOrThroughChunks) {
  EXPECT_EQ(all_reduce(0, false, kTwo), Method::kEager);
  EXPECT_EQ(all_reduce(32 * kKibibyte, false, kTwo), Method::kEager);
  EXPECT_EQ(all_reduce(32 * kKibibyte + 1, true, kTwo), Method::kZeroCopy);
  EXPECT_EQ(all_reduce(32 * kKibibyte + 1, false, kTwo), Method::kPipelined);
}

TEST(ShmMethod, InBuffersLessIsShortUnlessRanksShareCpus) {
  const auto short_beside_buffers = [](OperationKind kind, const MethodTerms& terms) {
    const MethodChoice choice = choose(kind, terms);
    EXPECT_EQ(choice.most_short.bytes, choose(kind, forced(Method::kEager)).most_short.bytes);
    return choice.most_short.bytes_beside_buffers;
  };
  EXPECT_EQ(short_beside_buffers(OperationKind::kAllReduce, kTwo), 6 * kKibibyte);
  EXPECT_EQ(all_reduce(6 * kKibibyte + 4, true, kTwo), Method::kZeroCopy);
  EXPECT_EQ(all_reduce(6 * kKibibyte + 4, false, kTwo), Method::kEager);
  EXPECT_EQ(short_beside_buffers(OperationKind::kBroadcast, kTwo), 12 * kKibibyte);
  EXPECT_EQ(short_beside_buffers(OperationKind::kReduceScatter, kTwo), 12 * kKibibyte);
  EXPECT_EQ(short_beside_buffers(OperationKind::kAllGather, kTwo), 6 * kKibibyte);
  EXPECT_EQ(short_beside_buffers(OperationKind::kAllReduce, crowded(4)), 32 * kKibibyte);
  EXPECT_EQ(short_beside_buffers(OperationKind::kAllReduce, crowded(3)), 4 * kKibibyte)
      << "who has time claims what there is";
  MethodTerms alone = kTwo;
  alone.has_buffers = false;
  EXPECT_EQ(short_beside_buffers(OperationKind::kAllReduce, alone), 32 * kKibibyte);
}

TEST(ShmMethod, TheMoreIsReadTheLessIsShort) {
  MethodTerms terms = kTwo;
  terms.ranks = 16;
  EXPECT_EQ(all_reduce(4 * kKibibyte, false, terms), Method::kEager);
  EXPECT_EQ(all_reduce(4 * kKibibyte + 4, false, terms), Method::kPipelined);
  EXPECT_EQ(chosen(OperationKind::kAllGather, 4 * kKibibyte + 4, false, terms), Method::kPipelined);
  EXPECT_EQ(chosen(OperationKind::kReduceScatter, 32 * kKibibyte, false, terms), Method::kEager)
      << "of each a block";
  EXPECT_EQ(chosen(OperationKind::kAllToAll, 32 * kKibibyte, false, terms), Method::kEager);
  terms.post_bytes = 2 * kKibibyte;
  EXPECT_EQ(all_reduce(2 * kKibibyte + 4, false, terms), Method::kPipelined);
}

TEST(ShmMethod, WhereRanksShareCpusOneResultIsMadeByTheLast) {
  EXPECT_EQ(all_reduce(32 * kKibibyte, true, crowded(16)), Method::kGathered);
  EXPECT_EQ(all_reduce(32 * kKibibyte + 4, true, crowded(16)), Method::kZeroCopy);
  EXPECT_EQ(chosen(OperationKind::kBarrier, 0, false, crowded(16)), Method::kGathered);
  EXPECT_EQ(chosen(OperationKind::kClose, 8, false, crowded(16)), Method::kGathered);
  EXPECT_EQ(chosen(OperationKind::kAllGather, 4 * kKibibyte, true, crowded(16)), Method::kEager);
  EXPECT_EQ(chosen(OperationKind::kAllGather, 4 * kKibibyte + 4, true, crowded(16)),
            Method::kZeroCopy);
}

TEST(ShmMethod, WhereRanksShareCpusWhatIsNotSharedIsCopiedUpToOneChunk) {
  MethodTerms terms = crowded(3);
  terms.chunk_bytes = 512 * kKibibyte;
  const OperationKind kinds[] = {OperationKind::kBroadcast, OperationKind::kReduceScatter,
                                 OperationKind::kAllToAll};
  for (const OperationKind kind : kinds) {
    SCOPED_TRACE(name(kind));
    EXPECT_EQ(chosen(kind, 64 * kKibibyte, true, terms), Method::kPipelined);
    EXPECT_EQ(chosen(kind, 128 * kKibibyte + 4, true, terms), Method::kZeroCopy);
    MethodTerms with_small_chunks = terms;
    with_small_chunks.chunk_bytes = 64 * kKibibyte;
    EXPECT_EQ(chosen(kind, 64 * kKibibyte + 4, true, with_small_chunks), Method::kZeroCopy);
    EXPECT_EQ(chosen(kind, 64 * kKibibyte, true, forced(Method::kZeroCopy, terms)),
              Method::kZeroCopy);
    MethodTerms within_cpus = terms;
    within_cpus.shares_cpus = false;
    EXPECT_EQ(chosen(kind, 64 * kKibibyte, true, within_cpus), Method::kZeroCopy);
  }
  EXPECT_EQ(all_reduce(64 * kKibibyte, true, terms), Method::kZeroCopy);
  MethodTerms more = terms;
  more.ranks = 4;
  EXPECT_EQ(chosen(OperationKind::kBroadcast, 64 * kKibibyte, true, more), Method::kZeroCopy)
      << "not all that receive have a CPU";
}

TEST(ShmMethod, WhereRanksShareCpusWhatAllGetIsMadeForAll) {
  MethodTerms terms = crowded(4);
  terms.chunk_bytes = 512 * kKibibyte;
  MethodTerms claiming = terms;
  claiming.ranks = 3;
  for (const OperationKind kind : {OperationKind::kBroadcast, OperationKind::kAllGather}) {
    SCOPED_TRACE(name(kind));
    EXPECT_FALSE(choose(kind, kTwo).for_all);
    EXPECT_TRUE(choose(kind, terms).for_all);
    EXPECT_FALSE(choose(kind, terms).claims);
    EXPECT_TRUE(choose(kind, claiming).claims);
  }
  EXPECT_TRUE(choose(OperationKind::kAllReduce, kTwo).for_all);
  EXPECT_FALSE(choose(OperationKind::kReduceScatter, claiming).for_all);
  EXPECT_FALSE(choose(OperationKind::kAllToAll, claiming).claims);
  constexpr OperationKind kKind = OperationKind::kAllGather;
  EXPECT_EQ(chosen(kKind, 32 * kKibibyte, true, terms), Method::kPipelined);
  EXPECT_EQ(chosen(kKind, 32 * kKibibyte + 4, true, terms), Method::kZeroCopy)
      << "copied once, for all";
  MethodTerms with_small_chunks = terms;
  with_small_chunks.chunk_bytes = 20 * kKibibyte;
  EXPECT_EQ(chosen(kKind, 20 * kKibibyte + 4, true, with_small_chunks), Method::kZeroCopy);
  EXPECT_EQ(chosen(kKind, 20 * kKibibyte, true, forced(Method::kZeroCopy, terms)),
            Method::kZeroCopy);
  MethodTerms within_cpus = terms;
  within_cpus.shares_cpus = false;
  EXPECT_EQ(chosen(kKind, 20 * kKibibyte, true, within_cpus), Method::kZeroCopy);
  EXPECT_EQ(chosen(kKind, 16 * kKibibyte, true, claiming), Method::kEager);
  EXPECT_EQ(chosen(kKind, 16 * kKibibyte + 4, true, claiming), Method::kZeroCopy);
  EXPECT_EQ(chosen(kKind, 16 * kKibibyte + 4, false, claiming), Method::kEager);
}

TEST(ShmMethod, AnOperationIsAsItsKindWhereAllMeet) {
  MethodTerms claiming = crowded(3);
  const auto form = [&](OperationKind kind, std::uint64_t chunks) {
    return form_of(choose(kind, claiming), -1, chunks, 0, true);
  };
  EXPECT_EQ(form(OperationKind::kAllReduce, 1),
            (Form{.chunks = 1, .gathered = true, .claimed = true}));
  EXPECT_EQ(form(OperationKind::kAllReduce, 0), (Form{.gathered = true}));
  EXPECT_EQ(form(OperationKind::kAllGather, 1),
            (Form{.chunks = 1, .gathered = true, .flow = Flow::kToEach, .claimed = true}));
  EXPECT_EQ(form(OperationKind::kAllToAll, 1),
            (Form{.chunks = 1, .gathered = true, .flow = Flow::kToEach, .for_all = false}));
  EXPECT_EQ(
      form(OperationKind::kBroadcast, kChunks),
      (Form{.everybody = false, .chunks = kChunks, .flow = Flow::kFromRoot, .for_all = false}));
  EXPECT_EQ(
      form(OperationKind::kBroadcast, kChunks + 1),
      (Form{.chunks = kChunks + 1, .gathered = true, .flow = Flow::kFromRoot, .claimed = true}));
}

TEST(ShmMethod, TheRootOfALongBroadcastWaitsWhereItHelpsOrCannotStageAll) {
  EXPECT_TRUE(meets_all(Flow::kShared, 0, false));
  EXPECT_TRUE(meets_all(Flow::kToEach, 1, true));
  EXPECT_FALSE(meets_all(Flow::kFromRoot, 0, false));
  EXPECT_TRUE(meets_all(Flow::kFromRoot, 1, false));
  EXPECT_FALSE(meets_all(Flow::kFromRoot, kChunks, true));
  EXPECT_TRUE(meets_all(Flow::kFromRoot, kChunks + 1, true));
}

// Else they would guess where the next one lies from where none was looked at.
TEST(ShmMethod, WhatIsCopiedWhereverItLiesIsShortWhereverItLies) {
  MethodTerms terms = crowded(3);
  terms.chunk_bytes = 512 * kKibibyte;
  constexpr OperationKind kKind = OperationKind::kAllGather;
  terms.measured[static_cast<std::size_t>(kKind)].most_short =
      MostShort{.bytes = 16 * kKibibyte, .bytes_beside_buffers = kKibibyte};
  EXPECT_EQ(choose(kKind, terms).most_short,
            (MostShort{.bytes = 16 * kKibibyte, .bytes_beside_buffers = 16 * kKibibyte}));
}

TEST(ShmMethod, WhatIsForcedHoldsWhereItCan) {
  for (const OperationKind kind : kKinds) {
    if (kind == OperationKind::kBarrier || kind == OperationKind::kClose) continue;
    SCOPED_TRACE(name(kind));
    EXPECT_EQ(chosen(kind, 32 * kKibibyte, true, forced(Method::kEager, crowded(16))),
              Method::kEager);
    EXPECT_EQ(chosen(kind, 4, true, forced(Method::kPipelined)), Method::kPipelined);
    EXPECT_EQ(chosen(kind, 1 << 20, true, forced(Method::kPipelined)), Method::kPipelined);
    EXPECT_EQ(chosen(kind, 4, true, forced(Method::kZeroCopy)), Method::kZeroCopy);
  }
  EXPECT_EQ(all_reduce(32 * kKibibyte, true, forced(Method::kGathered)), Method::kGathered);
}

TEST(ShmMethod, WhatTheForcedOneCannotCarryGoesAsByDefault) {
  for (const OperationKind kind : kKinds) {
    SCOPED_TRACE(name(kind));
    EXPECT_EQ(chosen(kind, 1 << 20, true, forced(Method::kEager)), Method::kZeroCopy);
    EXPECT_EQ(chosen(kind, 0, true, forced(Method::kPipelined)), Method::kEager);
    MethodTerms alone = kTwo;
    alone.has_buffers = false;
    EXPECT_EQ(choose(kind, forced(Method::kZeroCopy, alone)), choose(kind, alone));
    if (flow_of(kind) != Flow::kShared) {
      EXPECT_EQ(choose(kind, forced(Method::kGathered)), choose(kind, kTwo));
    }
  }
  EXPECT_EQ(all_reduce(4, false, forced(Method::kZeroCopy)), Method::kPipelined);
}

TEST(ShmMethod, HowACommunicatorIsClosedIsNotForced) {
  for (const Method method :
       {Method::kEager, Method::kGathered, Method::kPipelined, Method::kZeroCopy}) {
    const MethodChoice choice = choose(OperationKind::kClose, forced(method));
    EXPECT_EQ(choice.of_short, Method::kEager);
    EXPECT_EQ(choice.most_short.bytes, 32 * kKibibyte);
  }
}

class Lines final : public Log {
 public:
  void write(Severity severity, std::string_view text) override {
    lines.push_back((severity == Severity::kWarning ? "! " : "") + std::string(text));
  }
  std::vector<std::string> lines;
};

TEST(ShmMethodReport, SaysTheMethodTheReasonAndTheThresholds) {
  EXPECT_EQ(
      explanation(OperationKind::kAllReduce, 4, false, kTwo),
      "all_reduce of 4 B: eager in the flag's cache line, because each rank has its own CPU and "
      "reads the data of all ranks; eager up to 32768 B (6144 B after operations on buffers), "
      "above that zero_copy if all arrays are in buffers, else pipelined (2 ranks)");
  EXPECT_EQ(explanation(OperationKind::kAllReduce, 65536, false, kTwo),
            "all_reduce of 65536 B: pipelined, because it is longer than 32768 B, and not all "
            "arrays are in buffers; eager up to 32768 B (6144 B after operations on buffers), "
            "above that zero_copy if all arrays are in buffers, else pipelined (2 ranks)");
  EXPECT_EQ(explanation(OperationKind::kBroadcast, 4, false, forced(Method::kGathered)),
            "broadcast of 4 B: eager in the flag's cache line, because "
            "PACELINE_SHM_METHOD=gathered is not possible: only all_reduce and barrier have the "
            "same result on every rank; eager up to 32768 B (12288 B after operations on buffers), "
            "above that zero_copy if all arrays are in buffers, else pipelined (2 ranks)");
}

TEST(ShmMethodReport, SaysWhyWhatLiesInBuffersIsPipelined) {
  MethodTerms terms = crowded(4);
  terms.chunk_bytes = 512 * kKibibyte;
  EXPECT_EQ(explanation(OperationKind::kAllGather, 24576, true, terms),
            "all_gather of 24576 B: pipelined, because ranks share CPUs, and copying so little "
            "takes less time than another synchronization; eager up to 16384 B, pipelined up to "
            "32768 B, above that zero_copy if all arrays are in buffers, else pipelined (4 ranks)");
  EXPECT_EQ(explanation(OperationKind::kAllGather, 262144, true, terms),
            "all_gather of 262144 B: zero_copy, because it is longer than 32768 B, and all arrays "
            "are in buffers; eager up to 16384 B, pipelined up to 32768 B, above that zero_copy if "
            "all arrays are in buffers, else pipelined (4 ranks)");
}

TEST(ShmMethodReport, ExplainsEachClassOnce) {
  const auto log = std::make_shared<Lines>();
  MethodReport report(log, MethodReport::Says::kExplanations, kTwo);
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t bytes : {4u, 8u, 56u, 64u, 1024u, 65536u, 1u << 20}) {
      report.note(OperationKind::kAllReduce, bytes, false);
    }
    report.note(OperationKind::kAllReduce, 1 << 20, true);
    report.note(OperationKind::kBarrier, 0, false);
  }
  EXPECT_EQ(log->lines.size(), 5u);
}

TEST(ShmMethodReport, WarnsOnceOfWhatDoesNotGoAsForced) {
  const auto log = std::make_shared<Lines>();
  MethodReport report(log, MethodReport::Says::kWarnings, forced(Method::kEager));
  for (const std::size_t bytes : {4u, 32u << 10, 64u << 10, 1u << 20}) {
    report.note(OperationKind::kAllReduce, bytes, false);
  }
  report.note(OperationKind::kBarrier, 0, false);
  EXPECT_EQ(
      log->lines,
      std::vector<std::string>{
          "! PACELINE_SHM_METHOD=eager is not possible for all_reduce of 65536 B: max 32768 B"});
}

// Rather than wait for flags that never come.
TEST(ShmMethod, RanksThatAreForcedDifferentlyAreToldSo) {
  using testing::Mode;
  for (const Method method : {Method::kGathered, Method::kPipelined, Method::kZeroCopy}) {
    const auto of_last = [method](int rank) {
      return rank == 2 ? std::optional(method) : std::nullopt;
    };
    const auto body = [](Communicator& world) -> Status {
      float one = 1;
      const Status status = world.all_reduce(std::span(&one, 1));
      const bool says_so = status.code() == Code::kMismatch &&
                           status.text().find("PACELINE_SHM_METHOD") != std::string::npos;
      return says_so ? Status() : status.with_context("not told");
    };
    const Status status = testing::run_ranks(
        {.mode = Mode::kDirectThreads, .ranks = 3, .shared = {.method = of_last}}, body);
    EXPECT_TRUE(status.ok()) << word_of(method) << ": " << status.to_string();
  }
}

}  // namespace
}  // namespace paceline::shm
