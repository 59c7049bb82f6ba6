// The judge on outcomes made by hand: it passes what the contract allows and nothing else.

#include "tests/sim/judge.h"

#include <gtest/gtest.h>

namespace paceline::testing {
namespace {

using std::chrono::seconds;

// Three ranks that call a barrier and close(): all well.
struct World {
  World() {
    scenario.ranks = 3;
    scenario.calls = {Call{}};
    scenario.timeout = seconds(5);
    outcome.ranks.resize(3);
    outcome.hosts = {"a", "b", "c"};
    for (RankOutcome& rank : outcome.ranks) {
      rank.calls = {{.begun = 1, .ended = 2}, {.begun = 3, .ended = 4}};
    }
  }
  CallOutcome& call(std::size_t rank, std::size_t index) {
    return outcome.ranks[rank].calls[index];
  }
  void fail(std::size_t rank, std::size_t from, Code code, int culprit, std::string text = "gone") {
    for (std::size_t i = from; i < 2; ++i) {
      call(rank, i).status = Status(code, Scope::kGroup, text, named(culprit));
    }
  }
  Culprit named(int rank) const {
    const bool known = rank >= 0 && rank < 3;
    return {.rank = rank,
            .host = known ? outcome.hosts[static_cast<std::size_t>(rank)] : "",
            .operation = "barrier #0",
            .sequence = 0};
  }
  void blame(const Culprit& culprit) {
    for (std::size_t i = 0; i < 2; ++i) {
      call(0, i).status = Status(Code::kPeerLost, Scope::kGroup, "gone", culprit);
    }
  }
  void part() { scenario.faults = {{.kind = Fault::Kind::kCut, .ranks = {2}}}; }
  std::string schedule() const { return judge_schedule(scenario, outcome); }
  std::string disagreement() const { return judge_disagreement(scenario, outcome); }

  Scenario scenario;
  Outcome outcome;
};

TEST(JudgeSchedule, PassesWhatIsRight) {
  World world;
  EXPECT_EQ(world.schedule(), "");
  world.outcome.lost = {2};
  world.fail(0, 0, Code::kPeerLost, 2);
  world.fail(1, 1, Code::kPeerLost, 2);
  world.fail(2, 0, Code::kCancelled, -1);
  EXPECT_EQ(world.schedule(), "") << "who was lost may say anything";
}

TEST(JudgeSchedule, WantsACauseAndARightName) {
  World world;
  world.fail(0, 1, Code::kPeerLost, 2);
  EXPECT_NE(world.schedule(), "") << "nobody was lost";
  world.outcome.lost = {1};
  EXPECT_NE(world.schedule(), "") << "another was lost";
  world.outcome.lost = {2};
  EXPECT_EQ(world.schedule(), "");
  world.fail(0, 1, Code::kInternal, 2);
  EXPECT_NE(world.schedule(), "") << "a wrong code";
}

TEST(JudgeSchedule, WantsHostAndOperation) {
  World world;
  world.outcome.lost = {2};
  const Culprit right = world.named(2);
  world.blame(right);
  EXPECT_EQ(world.schedule(), "");
  Culprit wrong = right;
  wrong.host = "b";
  world.blame(wrong);
  EXPECT_NE(world.schedule(), "") << "on another host";
  for (const char* operation : {"", "barrier #1", "all_reduce(1 x float32, sum) #0"}) {
    wrong = right;
    wrong.operation = operation;
    world.blame(wrong);
    EXPECT_NE(world.schedule(), "") << "nobody has called " << operation;
  }
  for (const int sequence : {-1, 1, 2}) {
    wrong = right;
    wrong.sequence = sequence;
    world.blame(wrong);
    EXPECT_NE(world.schedule(), "") << "the number is not " << sequence;
  }
}

// A loss ends connections: who learns of it by its deadline was not told by those who saw it.
TEST(JudgeSchedule, WantsALossToBeSpread) {
  World world;
  world.outcome.lost = {2};
  world.fail(0, 0, Code::kTimeout, 2);
  EXPECT_NE(world.schedule(), "");
  world.part();
  EXPECT_EQ(world.schedule(), "") << "nobody may have seen it";
}

TEST(JudgeSchedule, WantsTheOtherSideOfAPartition) {
  World world;
  world.part();
  world.outcome.cut_off = {1, 2};
  world.fail(0, 1, Code::kTimeout, 2);
  world.fail(1, 1, Code::kTimeout, 0);
  EXPECT_EQ(world.schedule(), "");
  world.fail(1, 1, Code::kTimeout, 2);
  EXPECT_NE(world.schedule(), "") << "on its own side";
  world.fail(1, 1, Code::kTimeout, -1);
  EXPECT_NE(world.schedule(), "") << "nobody";
}

TEST(JudgeSchedule, SeesWrongResultsAndEarlyEnds) {
  World wrong;
  wrong.call(1, 0).wrong = "element 3 is not 5";
  EXPECT_NE(wrong.schedule().find("element 3"), std::string::npos) << wrong.schedule();
  World early;
  early.call(2, 0).begun = 3;
  EXPECT_NE(early.schedule(), "") << "the others left the barrier before rank 2 had come";
  World absent;
  absent.outcome.lost = {2};
  absent.call(2, 1).begun = 0;
  EXPECT_NE(absent.schedule(), "") << "the others closed without rank 2";
}

TEST(JudgeSchedule, SeesWhatComesLate) {
  World world;
  world.part();
  world.outcome.lost = {2};
  world.fail(0, 0, Code::kTimeout, 2);
  world.call(0, 0).ended_at = TimePoint(seconds(6));
  EXPECT_EQ(world.schedule(), "");
  world.call(0, 0).ended_at += Duration(1);
  EXPECT_NE(world.schedule(), "");
  world.call(0, 0).asked_at = TimePoint(seconds(6));
  EXPECT_NE(world.schedule(), "") << "it had ended before it was asked for, but was waited for";
  world.outcome.slack = Duration(1);
  EXPECT_EQ(world.schedule(), "") << "real time passes";
  World leaves_late;
  leaves_late.outcome.ranks[1].leaving = seconds(2);
  EXPECT_NE(leaves_late.schedule(), "");
  leaves_late.outcome.slack = seconds(1);
  EXPECT_EQ(leaves_late.schedule(), "");
}

TEST(JudgeSchedule, WantsTheSameErrorForGood) {
  World world;
  world.outcome.lost = {1, 2};
  world.fail(0, 0, Code::kPeerLost, 2);
  world.fail(0, 1, Code::kPeerLost, 1);
  EXPECT_NE(world.schedule(), "") << "another error";
  world.call(0, 1).status = {};
  EXPECT_NE(world.schedule(), "") << "a success";
}

TEST(JudgeSchedule, WantsAnEnd) {
  World world;
  world.outcome.simulated = Status(Code::kInternal, Scope::kProcess, "stuck");
  EXPECT_NE(world.schedule(), "");
  World fewer;
  fewer.outcome.ranks[0].calls.pop_back();
  EXPECT_NE(fewer.schedule(), "");
}

constexpr const char* kBothSides =
    "rank 1 on b called all_reduce(1 x float32, sum) #0 where rank 0 on a called barrier #0: kind";

World disagreeing() {
  World world;
  const Call reduce{.kind = OperationKind::kAllReduce, .count = 1};
  world.scenario.deviations = {
      {.ranks = {1}, .index = 0, .kind = Deviation::Kind::kReplace, .call = reduce}};
  for (std::size_t rank = 0; rank < 3; ++rank) {
    world.fail(rank, 0, Code::kMismatch, 1, kBothSides);
  }
  return world;
}

TEST(JudgeDisagreement, WantsAMismatchWithBothSidesOnEveryRank) {
  EXPECT_EQ(disagreeing().disagreement(), "");
  World one_side = disagreeing();
  one_side.fail(2, 0, Code::kMismatch, 1, "rank 1 on b called something else");
  EXPECT_NE(one_side.disagreement(), "");
  World late = disagreeing();
  late.call(2, 0).status = {};
  EXPECT_NE(late.disagreement(), "") << "a barrier that not all have called has succeeded";
  World other = disagreeing();
  other.fail(2, 0, Code::kTimeout, 1, kBothSides);
  EXPECT_NE(other.disagreement(), "");
  World slow = disagreeing();
  slow.call(2, 0).ended_at = TimePoint(seconds(5)) + Duration(1);
  EXPECT_NE(slow.disagreement(), "");
}

TEST(JudgeDisagreement, WantsTheCallsThatTheyMade) {
  const auto judged = [](const std::string& text, int culprit = 1) {
    World world = disagreeing();
    world.fail(0, 0, Code::kMismatch, culprit, text);
    return world.disagreement();
  };
  const std::string reduce = "all_reduce(1 x float32, sum) #0";
  EXPECT_EQ(judged(kBothSides, 0), "");
  EXPECT_NE(judged(kBothSides, 2), "") << "the culprit is not one of them";
  EXPECT_EQ(judged("rank 0 on a called barrier #0 where rank 1 on b called " + reduce + ": kind"),
            "");
  EXPECT_NE(judged("rank 1 on b called barrier #0 where rank 0 on a called " + reduce + ": kind"),
            "");
  EXPECT_NE(judged("rank 1 on c called " + reduce + " where rank 0 on a called barrier #0: kind"),
            "");
  const std::string same = "rank 1 on b called close #1 where rank 0 on a called close #1: ";
  EXPECT_EQ(judged(same + "the operations before this one differ"), "");
  EXPECT_NE(judged(same), "");
}

// As before, with a broadcast in the others' place.
World broadcasting() {
  World world = disagreeing();
  world.scenario.calls = {{.kind = OperationKind::kBroadcast, .count = 1}};
  for (std::size_t rank = 0; rank < 3; ++rank) {
    world.fail(rank, 0, Code::kMismatch, 1,
               "rank 1 on b called all_reduce(1 x float32, sum) #0 where rank 0 on a called "
               "broadcast(1 x float32, root 0) #0: kind");
  }
  return world;
}

TEST(JudgeDisagreement, SeesAWrongResultBehindTheDeviation) {
  World world = broadcasting();
  world.call(2, 0).status = {};
  EXPECT_EQ(world.disagreement(), "") << "it has what its root sent";
  world.call(2, 0).wrong = "element 0 is not 5";
  EXPECT_NE(world.disagreement().find("element 0"), std::string::npos) << world.disagreement();
}

// A rank that only sends may learn of it later, but not after close().
TEST(JudgeDisagreement, LetsASenderEndItsOwnPart) {
  World world = broadcasting();
  world.call(0, 0).status = {};
  EXPECT_EQ(world.disagreement(), "");
  world.call(0, 1).status = {};
  EXPECT_NE(world.disagreement(), "");
}

// A call too few among equal ones is a difference only where they end.
TEST(JudgeDisagreement, BeginsWhereTheCallsDiffer) {
  World world = disagreeing();
  world.scenario.calls = {Call{}, Call{}};
  world.scenario.deviations = {{.ranks = {1}, .index = 0, .kind = Deviation::Kind::kSkip}};
  for (std::size_t rank = 0; rank < 3; ++rank) {
    world.fail(rank, 0, Code::kMismatch, 1,
               "rank 1 on b called close #1 where rank 0 on a called barrier #1: kind");
  }
  for (const std::size_t rank : {0u, 2u}) {
    auto& calls = world.outcome.ranks[rank].calls;
    calls.insert(calls.begin(), {.begun = 1, .ended = 2});
  }
  world.call(1, 0) = {.begun = 1, .ended = 2};
  EXPECT_EQ(world.disagreement(), "");
  world.call(0, 1).status = {};
  EXPECT_NE(world.disagreement(), "");
}

}  // namespace
}  // namespace paceline::testing
