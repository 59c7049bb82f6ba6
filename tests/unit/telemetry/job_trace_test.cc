#include "telemetry/job/job_trace.h"

#include <chrono>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kJobBegin{std::chrono::hours(100)};

OperationSample traced_sample(std::uint64_t sequence, Duration called, Duration ended) {
  return {.sequence = sequence,
          .kind = OperationKind::kAllReduce,
          .bytes = 4000,
          .called_ns = (kJobBegin + called).time_since_epoch().count(),
          .ended_ns = (kJobBegin + ended).time_since_epoch().count(),
          .exposed_ns = (ended - called).count()};
}

// The last rank is late by `late`, and the others wait for it.
MatchedOperation late_operation(std::uint64_t sequence, int ranks, Duration called,
                                Duration late = milliseconds(1)) {
  MatchedOperation operation{.group = "", .weight = 1, .calls = {}};
  for (int rank = 0; rank < ranks; ++rank) {
    const bool is_late = rank == ranks - 1;
    const Duration when = called + (is_late ? late : Duration(0));
    operation.calls.push_back(
        {.rank = rank,
         .sample = traced_sample(sequence, when, called + late + microseconds(500)),
         .waited_ns = is_late ? 0 : late.count(),
         .waited_for = is_late ? -1 : ranks - 1});
  }
  return operation;
}

RankReading steps_until(Duration at, std::uint64_t samples) {
  RankReading reading;
  reading.steps = {.steps = 1 + samples / 64, .samples = samples, .wall = at};
  reading.steps.parts = {at * 3 / 4, at / 4, Duration(0), Duration(0)};
  reading.begin_ns = kJobBegin.time_since_epoch().count();
  reading.end_ns = (kJobBegin + at).time_since_epoch().count();
  return reading;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> lines_with(const std::string& text, const std::string& wanted) {
  std::vector<std::string> found;
  for (std::string& line : lines_of(text))
    if (line.find(wanted) != line.npos) found.push_back(std::move(line));
  return found;
}

TEST(JobTrace, FlowsGoFromTheLateRankToThoseWhoWait) {
  JobTrace trace(kJobBegin, "job 7");
  trace.begin_start(kJobBegin, {"h1", "h1", "h2"}, "3 ranks start, epoch 0");
  trace.take(kJobBegin + seconds(2), late_operation(5, 3, seconds(1)));
  const std::string text = trace.end(kJobBegin + seconds(3));
  EXPECT_EQ(lines_with(text, "process_name").size(), 3u);
  EXPECT_EQ(lines_with(text, "\"host h2\"").size(), 1u);
  const auto slices = lines_with(text, "\"ph\":\"X\"");
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_EQ(
      slices[0],
      R"({"ph":"X","name":"all_reduce","cat":"operation","pid":2,"tid":100000,"ts":1000000.000,)"
      R"("dur":1500.000,"args":{"group":"all ranks","sequence":5,"bytes":4000,)"
      R"("exposed_us":1500.000,"waited_us":1000.000,"waited_for":2}},)");
  const auto sources = lines_with(text, "\"ph\":\"s\""), ends = lines_with(text, "\"ph\":\"f\"");
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_NE(sources[1].find(R"("pid":3,"tid":100002,"ts":1001000.000,"id":2)"), std::string::npos);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_NE(ends[1].find(R"("pid":2,"tid":100001,"ts":1001000.000,"id":2)"), std::string::npos);
}

// The calls of rank 0 were moved by less, when less was known of the clock.
TEST(JobTrace, CallsOfAHostAreMovedAlike) {
  JobTrace trace(kJobBegin, "job 7");
  trace.begin_start(kJobBegin, {"h1", "h1"}, "");
  MatchedOperation operation = late_operation(0, 2, seconds(1));
  operation.calls[1].ahead = milliseconds(2);
  trace.take(kJobBegin + seconds(2), std::move(operation));
  RankReading reading = steps_until(seconds(2), 64);
  reading.ahead = milliseconds(2);
  trace.take(kJobBegin + seconds(2), 0, reading);
  const auto slices = lines_with(trace.end(kJobBegin + seconds(3)), "\"ph\":\"X\"");
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_NE(slices[0].find("\"ts\":998000.000"), std::string::npos) << slices[0];
  EXPECT_NE(slices[1].find("\"ts\":1001000.000"), std::string::npos) << slices[1];
}

TEST(JobTrace, OperationsThatOverlapAreOnThreadsOfTheirOwn) {
  JobTrace trace(kJobBegin, "job 7");
  trace.begin_start(kJobBegin, {"h1", "h1"}, "");
  for (std::uint64_t i = 0; i < 2 * JobTrace::kLanes; ++i)
    trace.take(kJobBegin + seconds(2), late_operation(i, 2, milliseconds(i), milliseconds(100)));
  const std::string text = trace.end(kJobBegin + seconds(3));
  EXPECT_EQ(lines_with(text, "\"ph\":\"X\",\"name\":\"all_reduce\",\"cat\":\"operation\",\"pid\":2")
                .size(),
            3 * JobTrace::kLanes)
      << "those of rank 1 do not overlap, and others of rank 0 overlap with all before";
  EXPECT_EQ(lines_with(text, "\"name\":\"thread_name\",\"pid\":2").size(), JobTrace::kLanes + 1);
  EXPECT_EQ(lines_with(text, "\"rank 0 overlapping 7\"").size(), 1u);
}

// An operation may become known after later ones, as when a rank of its group reports late.
TEST(JobTrace, AnOperationThatIsKnownLateDoesNotOverlap) {
  JobTrace trace(kJobBegin, "job 7");
  trace.begin_start(kJobBegin, {"h1", "h1"}, "");
  trace.take(kJobBegin + seconds(2), late_operation(2, 2, seconds(1)));
  std::string text = trace.text(kJobBegin + seconds(8));
  trace.take(kJobBegin + seconds(8), late_operation(1, 2, milliseconds(500)));
  text += trace.end(kJobBegin + seconds(9));
  EXPECT_EQ(lines_with(text, "\"ph\":\"X\"").size(), 4u) << text;
  EXPECT_TRUE(lines_with(text, "overlapping").empty()) << text;
}

TEST(JobTrace, HostsHaveTheErrorOfTheirClock) {
  JobTrace trace(kJobBegin, "job 7");
  trace.begin_start(kJobBegin, {"h1", "h2"}, "");
  RankReading reading = steps_until(seconds(2), 64);
  reading.clock_error = milliseconds(3);
  trace.take(kJobBegin + seconds(2), 0, reading);
  trace.take(kJobBegin + seconds(2), late_operation(5, 2, seconds(1)));
  const auto labels = lines_with(trace.end(kJobBegin + seconds(3)), "process_labels");
  ASSERT_FALSE(labels.empty());
  EXPECT_NE(labels.back().find(R"("args":{"labels":"clock error 3 ms"}})"), std::string::npos)
      << labels.back();
  for (const std::string& label : labels)
    EXPECT_NE(label.find("\"pid\":2"), std::string::npos) << label;
}

TEST(TraceLane, SlicesComeInAnyOrder) {
  TraceLane lane;
  EXPECT_TRUE(lane.take(seconds(10), seconds(20)));
  EXPECT_TRUE(lane.take(seconds(1), seconds(10)));
  EXPECT_TRUE(lane.take(seconds(20), seconds(21)));
  EXPECT_FALSE(lane.take(seconds(19), seconds(20)));
  EXPECT_FALSE(lane.take(seconds(0), seconds(2)));
  EXPECT_FALSE(lane.take(seconds(5), seconds(30)));
  EXPECT_TRUE(lane.take(seconds(0), seconds(1)));
}

TEST(TraceLane, SlicesBeforeForgottenOnesAreRefused) {
  TraceLane lane;
  const auto time = [](std::size_t i) { return Duration(seconds(2 * i + 10)); };
  for (std::size_t i = 0; i <= TraceLane::kMostKnown; ++i)
    EXPECT_TRUE(lane.take(time(i), time(i) + seconds(1)));
  EXPECT_FALSE(lane.take(seconds(1), seconds(2)));
  EXPECT_TRUE(
      lane.take(time(TraceLane::kMostKnown) - milliseconds(500), time(TraceLane::kMostKnown)));
}

TEST(JobTrace, TimesAreNeitherNegativeNorOfTheFuture) {
  JobTrace trace(kJobBegin, "job 7");
  trace.begin_start(kJobBegin, {"h1", "h1"}, "");
  trace.take(kJobBegin + seconds(2), late_operation(0, 2, seconds(-1), seconds(2)));
  trace.take(kJobBegin + seconds(2), late_operation(1, 2, seconds(3)));
  const auto slices = lines_with(trace.end(kJobBegin + seconds(5)), "\"ph\":\"X\"");
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_NE(slices[0].find("\"ts\":0.000,\"dur\":1000500.000"), std::string::npos);
}

// Of groups with any ranks, some calls of each operation are kept.
TEST(JobTrace, LargeOperationsHaveCallsOfOtherRanksInTurn) {
  constexpr int kRanks = 2 * static_cast<int>(JobTrace::kMostCalls);
  JobTrace trace(kJobBegin, "job 7");
  trace.begin_start(kJobBegin, std::vector<std::string>(2 * kRanks, "h1"), "");
  for (std::uint64_t sequence = 0; sequence < 2; ++sequence) {
    MatchedOperation operation = late_operation(sequence, kRanks, milliseconds(10 * sequence));
    for (OperationCall& call : operation.calls) {
      call.rank *= 2;
      if (call.waited_for >= 0) call.waited_for *= 2;
    }
    trace.take(kJobBegin + seconds(2), std::move(operation));
  }
  const std::string text = trace.end(kJobBegin + seconds(5));
  for (const char* const sequence : {"\"sequence\":0,", "\"sequence\":1,"}) {
    const std::size_t calls = lines_with(text, sequence).size();
    EXPECT_GE(calls, JobTrace::kMostCalls) << sequence;
    EXPECT_LE(calls, JobTrace::kMostCalls + 1) << sequence;
  }
}

TEST(JobTrace, LongNamesOfGroupsAreCut) {
  JobTrace trace(kJobBegin, "job 7");
  trace.begin_start(kJobBegin, {"h1", "h1"}, "");
  MatchedOperation operation = late_operation(0, 2, seconds(1));
  operation.group = std::string(500, 'g');
  trace.take(kJobBegin + seconds(2), std::move(operation));
  const std::string text = trace.end(kJobBegin + seconds(3));
  EXPECT_EQ(lines_with(text, "\"" + std::string(64, 'g') + "\"").size(), 2u);
}

TEST(JobTrace, PartsAreSharesOfTheTimeSinceTheReadingBefore) {
  JobTrace trace(kJobBegin, "job 7");
  trace.begin_start(kJobBegin, {"h1"}, "");
  trace.take(kJobBegin + seconds(1), 0, steps_until(seconds(1), 640));
  EXPECT_EQ(
      lines_with(trace.text(kJobBegin + seconds(1)), "\"ph\":\"C\""),
      (std::vector<std::string>{
          R"({"ph":"C","name":"rank 0","pid":2,"tid":100000,"ts":0.000,"args":)"
          R"({"compute":0.750,"communication":0.250,"input":0.000,"other":0.000}},)",
          R"({"ph":"C","name":"samples/s","pid":1,"tid":1,"ts":0.000,"args":{"all":640.000}})"}));
  RankReading second = steps_until(seconds(2), 1280);
  second.steps.parts = {milliseconds(750), milliseconds(250), seconds(1), Duration(0)};
  trace.take(kJobBegin + seconds(2), 0, second);
  EXPECT_EQ(lines_with(trace.text(kJobBegin + seconds(2)), "\"ph\":\"C\""),
            (std::vector<std::string>{
                R"({"ph":"C","name":"rank 0","pid":2,"tid":100000,"ts":1000000.000,"args":)"
                R"({"compute":0.000,"communication":0.000,"input":1.000,"other":0.000}})"}));
  trace.rank_ended(kJobBegin + seconds(3), 0, "exited with code 1");
  const std::string rest = trace.end(kJobBegin + seconds(3));
  EXPECT_EQ(lines_with(rest, "rank 0 exited with code 1").size(), 1u);
  EXPECT_EQ(lines_with(rest, R"("ts":2000000.000,"args":{"compute":0.000,)").size(), 1u);
  EXPECT_EQ(lines_with(rest, R"("args":{"all":0.000})").size(), 1u);
}

TEST(JobTrace, ReadingsOfTheFutureAndAfterTheEndAreDropped) {
  JobTrace trace(kJobBegin, "job 7");
  trace.begin_start(kJobBegin, {"h1"}, "");
  trace.take(kJobBegin + seconds(1), 0, steps_until(seconds(5), 640));
  EXPECT_TRUE(lines_with(trace.end(kJobBegin + seconds(2)), "\"ph\":\"C\"").empty());
  trace.begin_start(kJobBegin, {"h1", "h1"}, "");
  trace.take(kJobBegin + seconds(3), 1, steps_until(seconds(3), 640));
  trace.rank_ended(kJobBegin + seconds(3), 1, "exited with code 1");
  EXPECT_EQ(trace.end(kJobBegin + seconds(5)), "");
}

TEST(JobTrace, SamplesPerSecondFallInAStall) {
  JobTrace trace(kJobBegin, "job 7");
  trace.begin_start(kJobBegin, {"h1"}, "");
  RankReading reading = steps_until(seconds(1), 640);
  reading.steps.steps = 10;
  const auto rate_at = [&](int second) {
    reading.until = kJobBegin + seconds(second);
    trace.take(reading.until, 0, reading);
    const auto lines = lines_with(trace.text(reading.until), "samples/s");
    return lines.empty() ? "" : lines.back().substr(lines.back().find("{\"all\""));
  };
  EXPECT_EQ(rate_at(1), "{\"all\":640.000}}");
  EXPECT_EQ(rate_at(2), "{\"all\":64.000}}");
  EXPECT_EQ(rate_at(5), "{\"all\":16.000}}");
}

// What is known of the clock changes, but not what the rank does.
TEST(JobTrace, SamplesPerSecondDoNotChangeWithTheClock) {
  for (const Duration moved : {milliseconds(-5), milliseconds(5)}) {
    JobTrace trace(kJobBegin, "job 7");
    trace.begin_start(kJobBegin, {"h1"}, "");
    RankReading reading = steps_until(seconds(1), 640);
    reading.until = kJobBegin + milliseconds(1010);
    trace.take(kJobBegin + seconds(2), 0, reading);
    EXPECT_EQ(lines_with(trace.text(kJobBegin + seconds(2)), "samples/s").size(), 1u);
    for (const std::uint64_t samples : {640u, 1280u}) {
      reading = steps_until(seconds(static_cast<int>(samples) / 640), samples);
      reading.end_ns += moved.count();
      reading.until =
          kJobBegin + seconds(static_cast<int>(samples) / 640) + milliseconds(10) + moved;
      reading.ahead = -moved;
      trace.take(kJobBegin + seconds(3), 0, reading);
      EXPECT_TRUE(lines_with(trace.text(kJobBegin + seconds(3)), "samples/s").empty());
    }
  }
}

TEST(JobTrace, WithoutStepsTheLifeOfARankIsDivided) {
  JobTrace trace(kJobBegin, "job 7");
  trace.begin_start(kJobBegin, {"h1"}, "");
  RankReading reading;
  reading.joined = kJobBegin + seconds(1);
  reading.until = kJobBegin + seconds(3);
  reading.exposed = seconds(1);
  trace.take(kJobBegin + seconds(3), 0, reading);
  EXPECT_EQ(lines_with(trace.text(kJobBegin + seconds(3)),
                       R"("ts":1000000.000,"args":{"compute":0.500,"communication":0.500,)")
                .size(),
            1u);
}

TEST(JobTrace, AStartMarksItsBeginAndHasItsHosts) {
  JobTrace trace(kJobBegin, "job 7");
  trace.begin_start(kJobBegin, {"h1", "h2"}, "2 ranks start, epoch 0");
  trace.take(kJobBegin + seconds(2), late_operation(0, 2, seconds(1)));
  trace.note(kJobBegin + seconds(2), "host h2 is lost");
  trace.begin_start(kJobBegin + seconds(3), {"h1", "h3"}, "2 ranks start again, epoch 1");
  trace.take(kJobBegin + seconds(5), late_operation(0, 2, seconds(4)));
  const std::string text = trace.end(kJobBegin + seconds(6));
  EXPECT_EQ(lines_with(text, "\"pid\":3,\"tid\":100001,\"ts\":1001000").size(), 2u);
  EXPECT_EQ(lines_with(text, "\"pid\":4,\"tid\":100001,\"ts\":4001000").size(), 2u);
  EXPECT_EQ(lines_with(text, "\"s\":\"g\"").size(), 3u);
}

TEST(JobTrace, EndsOfRanksAreThereIfOperationsTakeAllOfTheBudget) {
  JobTrace trace(kJobBegin, "job 7");
  trace.begin_start(kJobBegin, std::vector<std::string>(500, "h1"), "");
  for (int second = 1; second < 100; ++second) {
    for (int i = 0; i < 10; ++i)
      trace.take(kJobBegin + seconds(second),
                 late_operation(static_cast<std::uint64_t>(10 * second + i), 500,
                                seconds(second - 1) + milliseconds(10 * i)));
    trace.text(kJobBegin + seconds(second));
  }
  for (int rank = 0; rank < 500; ++rank)
    trace.rank_ended(kJobBegin + seconds(100), rank, "exited with code 1");
  EXPECT_EQ(lines_with(trace.end(kJobBegin + seconds(100)), "exited with code 1").size(), 500u);
}

TEST(JobTrace, ATraceOfItsMaxSizeEndsWithANote) {
  constexpr std::size_t kMost = 20000;
  JobTrace trace(kJobBegin, "job 7", kMost);
  trace.begin_start(kJobBegin, {"h1", "h1"}, "");
  std::string text;
  for (int second = 0; second < 100; ++second) {
    for (int i = 0; i < 10; ++i)
      trace.take(kJobBegin + seconds(second + 1),
                 late_operation(static_cast<std::uint64_t>(10 * second + i), 2,
                                seconds(second) + milliseconds(i)));
    text += trace.text(kJobBegin + seconds(second + 1));
  }
  text += trace.end(kJobBegin + seconds(101));
  EXPECT_LT(text.size(), 2 * kMost);
  EXPECT_TRUE(text.ends_with("\n]\n"));
  EXPECT_NE(lines_of(text).end()[-2].find("the trace ends here"), std::string::npos);
}

// The virtual time of a job. Each rank has a reading a second.
struct Hour {
  int ranks;
  int operations;  // a second
  int length_s = 3600;

  // Bytes of the trace. Checks that each operation is there with all its ranks.
  std::size_t bytes() const {
    JobTrace trace(kJobBegin, "job 7");
    std::vector<std::string> hosts;
    for (int rank = 0; rank < ranks; ++rank) hosts.push_back("h" + std::to_string(rank / 8));
    trace.begin_start(kJobBegin, hosts, "");
    std::size_t all = 0;
    for (int second = 1; second <= length_s; ++second) {
      const TimePoint now = kJobBegin + seconds(second);
      for (int rank = 0; rank < ranks; ++rank)
        trace.take(now, rank,
                   steps_until(seconds(second), static_cast<std::uint64_t>(64 * second)));
      for (int i = 0; i < operations; ++i)
        trace.take(
            now, late_operation(static_cast<std::uint64_t>(second * operations + i), ranks,
                                seconds(second - 1) + seconds(i) / operations, microseconds(100)));
      const std::string text = trace.text(now);
      if (ranks <= 1000) expect_whole(text);
      all += text.size();
    }
    return all + trace.end(kJobBegin + seconds(length_s + 1)).size();
  }
  void expect_whole(const std::string& text) const {
    std::size_t slices = 0;
    for (std::size_t at = 0; (at = text.find("\"ph\":\"X\"", at)) != text.npos; ++at) ++slices;
    EXPECT_EQ(slices % static_cast<std::size_t>(ranks), 0u);
  }
};

constexpr std::size_t kMostOfAnHour = 50'000'000;

TEST(TraceOfAnHour, IsBelow50MB) {
  const std::size_t large = Hour{.ranks = 1000, .operations = 2}.bytes();
  EXPECT_LT(large, kMostOfAnHour);
  EXPECT_GT(large, kMostOfAnHour / 2) << "the budget is used";
  const std::size_t quick = Hour{.ranks = 4, .operations = 100}.bytes();
  EXPECT_LT(quick, kMostOfAnHour);
  EXPECT_GT(quick, kMostOfAnHour / 2);
  RecordProperty("bytes_of_1000_ranks", std::to_string(large));
  RecordProperty("bytes_of_4_ranks", std::to_string(quick));
}

TEST(TraceOfAnHour, IsBoundedAtAnyNumberOfRanks) {
  const double most = TraceBudget::kMostSaved + 30 * TraceBudget::kBytesPerS;
  EXPECT_LT(static_cast<double>(Hour{.ranks = 65536, .operations = 1, .length_s = 20}.bytes()),
            most);
}

}  // namespace
}  // namespace paceline
