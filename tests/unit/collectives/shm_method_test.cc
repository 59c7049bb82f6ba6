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
    .ranks = 2, .shares_cpus = false, .has_buffers = true, .post_bytes = 32 * kKibibyte};
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
  const Choice choice = choose(kind, terms);
  const Way& way = choice.way(bytes);
  return in_buffers ? way.in_buffers : way.ordinary;
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
  const auto most_short = [](OperationKind kind, const MethodTerms& terms) {
    const Way first = choose(kind, terms).ways.front();
    EXPECT_TRUE(first.is_short());
    return first.most_bytes;
  };
  EXPECT_EQ(most_short(OperationKind::kAllReduce, kTwo), 6 * kKibibyte);
  EXPECT_EQ(all_reduce(6 * kKibibyte + 4, true, kTwo), Method::kZeroCopy);
  EXPECT_EQ(all_reduce(6 * kKibibyte + 4, false, kTwo), Method::kEager);
  EXPECT_EQ(most_short(OperationKind::kBroadcast, kTwo), 12 * kKibibyte);
  EXPECT_EQ(most_short(OperationKind::kReduceScatter, kTwo), 12 * kKibibyte);
  EXPECT_EQ(most_short(OperationKind::kAllGather, kTwo), 6 * kKibibyte);
  EXPECT_EQ(most_short(OperationKind::kAllReduce, crowded(4)), 32 * kKibibyte);
  EXPECT_EQ(most_short(OperationKind::kAllReduce, crowded(3)), 32 * kKibibyte);
  MethodTerms alone = kTwo;
  alone.has_buffers = false;
  EXPECT_EQ(most_short(OperationKind::kAllReduce, alone), 32 * kKibibyte);
}

TEST(ShmMethod, WhatFitsTheLineOfAFlagIsShort) {
  MethodTerms terms = kTwo;
  terms.measured[static_cast<std::size_t>(OperationKind::kAllReduce)]
                [static_cast<std::size_t>(Limit::kBuffers)] = 8;
  EXPECT_EQ(all_reduce(Line::kDataBytes, true, terms), Method::kEager);
  EXPECT_EQ(all_reduce(Line::kDataBytes + 4, true, terms), Method::kZeroCopy);
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
                                 OperationKind::kAllGather, OperationKind::kAllToAll};
  for (const OperationKind kind : kinds) {
    SCOPED_TRACE(name(kind));
    EXPECT_EQ(chosen(kind, 64 * kKibibyte, true, terms), Method::kPipelined);
    EXPECT_EQ(chosen(kind, 64 * kKibibyte + 4, true, terms), Method::kZeroCopy);
    EXPECT_EQ(chosen(kind, 64 * kKibibyte + 4, false, terms), Method::kPipelined);
    MethodTerms with_small_chunks = terms;
    with_small_chunks.chunk_bytes = 48 * kKibibyte;
    EXPECT_EQ(chosen(kind, 48 * kKibibyte + 4, true, with_small_chunks), Method::kZeroCopy);
    EXPECT_EQ(chosen(kind, 48 * kKibibyte, true, forced(Method::kZeroCopy, terms)),
              Method::kZeroCopy);
    MethodTerms within_cpus = terms;
    within_cpus.shares_cpus = false;
    EXPECT_EQ(chosen(kind, 48 * kKibibyte, true, within_cpus), Method::kZeroCopy);
  }
  EXPECT_EQ(all_reduce(64 * kKibibyte, true, terms), Method::kZeroCopy);
}

TEST(ShmMethod, WhereRanksShareCpusWhatAllGetIsMadeForAll) {
  for (const OperationKind kind : {OperationKind::kBroadcast, OperationKind::kAllGather}) {
    SCOPED_TRACE(name(kind));
    EXPECT_FALSE(choose(kind, kTwo).for_all);
    EXPECT_TRUE(choose(kind, crowded(4)).for_all);
  }
  EXPECT_TRUE(choose(OperationKind::kAllReduce, kTwo).for_all);
  EXPECT_FALSE(choose(OperationKind::kReduceScatter, crowded(4)).for_all);
  EXPECT_FALSE(choose(OperationKind::kAllToAll, crowded(4)).for_all);
}

TEST(ShmMethod, AnOperationIsAsItsKindWhereAllMeet) {
  const MethodTerms terms = crowded(3);
  const auto form = [&](OperationKind kind, std::uint64_t chunks) {
    const Choice choice = choose(kind, terms);
    return form_of(choice, choice.way(chunks > 0 ? SIZE_MAX : 0), -1, chunks, 0, true);
  };
  EXPECT_EQ(form(OperationKind::kAllReduce, 1), (Form{.chunks = 1, .gathered = true}));
  EXPECT_EQ(form(OperationKind::kAllReduce, 0), (Form{.gathered = true}));
  EXPECT_EQ(form(OperationKind::kAllGather, 1),
            (Form{.chunks = 1, .gathered = true, .flow = Flow::kToEach}));
  EXPECT_EQ(form(OperationKind::kAllToAll, 1),
            (Form{.chunks = 1, .gathered = true, .flow = Flow::kToEach, .for_all = false}));
  EXPECT_EQ(
      form(OperationKind::kBroadcast, kChunks),
      (Form{.everybody = false, .chunks = kChunks, .flow = Flow::kFromRoot, .for_all = false}));
  EXPECT_EQ(form(OperationKind::kBroadcast, kChunks + 1),
            (Form{.chunks = kChunks + 1, .gathered = true, .flow = Flow::kFromRoot}));
}

TEST(ShmMethod, TheRootOfALongBroadcastWaitsWhereItHelpsOrCannotStageAll) {
  const auto everybody = [](std::uint64_t chunks, bool shares_cpus) {
    const Choice choice = choose(OperationKind::kBroadcast, kTwo);
    const Way& way = choice.way(chunks > 0 ? SIZE_MAX : 0);
    return form_of(choice, way, 0, chunks, 0, shares_cpus).everybody;
  };
  EXPECT_FALSE(everybody(0, false));
  EXPECT_TRUE(everybody(1, false));
  EXPECT_FALSE(everybody(kChunks, true));
  EXPECT_TRUE(everybody(kChunks + 1, true));
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
    EXPECT_EQ(chosen(OperationKind::kClose, 4, true, forced(method)), Method::kEager);
    EXPECT_EQ(chosen(OperationKind::kClose, 32 * kKibibyte, false, forced(method)), Method::kEager);
  }
}

class Lines final : public Log {
 public:
  void write(Severity severity, std::string_view text) override {
    lines.push_back((severity == Severity::kWarning ? "! " : "") + std::string(text));
  }
  std::vector<std::string> lines;
};

std::string explained(const Done& done, const MethodTerms& terms) {
  return explanation(done, choose(done.kind, terms), terms);
}

TEST(ShmMethodReport, SaysTheMethodTheReasonAndTheLimits) {
  EXPECT_EQ(explained({OperationKind::kAllReduce, 4, Method::kEager}, kTwo),
            "all_reduce of 4 B: eager in the flag's cache line, because each rank has its own CPU "
            "and reads the data of all ranks; eager up to 6144 B, up to 32768 B zero_copy if all "
            "arrays are in buffers, else eager, above that zero_copy if all arrays are in buffers, "
            "else pipelined (2 ranks)");
  EXPECT_EQ(explained({OperationKind::kAllReduce, 65536, Method::kPipelined}, kTwo),
            "all_reduce of 65536 B: pipelined, because it is longer than 32768 B, and not all "
            "arrays are in buffers; eager up to 6144 B, up to 32768 B zero_copy if all arrays are "
            "in buffers, else eager, above that zero_copy if all arrays are in buffers, else "
            "pipelined (2 ranks)");
  EXPECT_EQ(explained({OperationKind::kBroadcast, 4, Method::kEager}, forced(Method::kGathered)),
            "broadcast of 4 B: eager in the flag's cache line, because "
            "PACELINE_SHM_METHOD=gathered is not possible: only all_reduce and barrier have the "
            "same result on every rank; eager up to 12288 B, up to 32768 B zero_copy if all arrays "
            "are in buffers, else eager, above that zero_copy if all arrays are in buffers, else "
            "pipelined (2 ranks)");
}

TEST(ShmMethodReport, SaysWhyWhatLiesInBuffersIsPipelined) {
  MethodTerms terms = crowded(4);
  terms.chunk_bytes = 512 * kKibibyte;
  const std::string limits =
      "; eager up to 16384 B, up to 65536 B pipelined, above that zero_copy if all arrays are in "
      "buffers, else pipelined (4 ranks)";
  EXPECT_EQ(explained({OperationKind::kAllGather, 24576, Method::kPipelined}, terms),
            "all_gather of 24576 B: pipelined, because it is longer than 16384 B, and copying it "
            "takes ranks that share CPUs less time than another synchronization" +
                limits);
  EXPECT_EQ(explained({OperationKind::kAllGather, 262144, Method::kZeroCopy}, terms),
            "all_gather of 262144 B: zero_copy, because it is longer than 65536 B, and all arrays "
            "are in buffers" +
                limits);
}

TEST(ShmMethodReport, SaysWhyWhatMayBePostedIsNot) {
  const auto begins = [](Method method) {
    const std::string text = explained({OperationKind::kAllReduce, 8192, method}, kTwo);
    return text.substr(0, text.find(';'));
  };
  EXPECT_EQ(begins(Method::kEager),
            "all_reduce of 8192 B: eager in a post, because it is longer than 6144 B, and each "
            "rank has its own CPU and reads the data of all ranks");
  EXPECT_EQ(begins(Method::kZeroCopy),
            "all_reduce of 8192 B: zero_copy, because it is longer than 6144 B, and all arrays are "
            "in buffers");
  EXPECT_EQ(begins(Method::kPipelined),
            "all_reduce of 8192 B: pipelined, because it is longer than 6144 B, and not all arrays "
            "are in buffers");
}

TEST(ShmMethodReport, ExplainsEachWayOnce) {
  const auto log = std::make_shared<Lines>();
  MethodReport report(log, MethodReport::Says::kExplanations, kTwo);
  const auto note = [&](OperationKind kind, std::size_t bytes, Method method) {
    report.note({kind, bytes, method}, choose(kind, kTwo));
  };
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t bytes : {4u, 8u, 56u, 64u, 1024u, 8192u})
      note(OperationKind::kAllReduce, bytes, Method::kEager);
    note(OperationKind::kAllReduce, 65536, Method::kPipelined);
    note(OperationKind::kAllReduce, 1 << 20, Method::kPipelined);
    note(OperationKind::kAllReduce, 1 << 20, Method::kZeroCopy);
    note(OperationKind::kBarrier, 0, Method::kEager);
  }
  EXPECT_EQ(log->lines.size(), 6u);
}

TEST(ShmMethodReport, WarnsOnceOfWhatDoesNotGoAsForced) {
  const auto log = std::make_shared<Lines>();
  const MethodTerms terms = forced(Method::kEager);
  MethodReport report(log, MethodReport::Says::kWarnings, terms);
  const Choice choice = choose(OperationKind::kAllReduce, terms);
  for (const std::size_t bytes : {4u, 32u << 10, 64u << 10, 1u << 20})
    report.note({OperationKind::kAllReduce, bytes, choice.way(bytes).ordinary}, choice);
  report.note({OperationKind::kBarrier, 0, Method::kEager}, choose(OperationKind::kBarrier, terms));
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
