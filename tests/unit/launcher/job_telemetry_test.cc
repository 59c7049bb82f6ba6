#include "launcher/head/job_telemetry.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "launcher/channel/figure_messages.h"

namespace paceline::launcher {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A job of two hosts with a rank each. The clock of the second one is an hour ahead.
class JobTelemetryTest : public ::testing::Test {
 protected:
  JobTelemetryTest() {
    for (const char* const name : {"h1", "h2"}) {
      HostState host;
      host.name = name;
      state_.ranks.push_back({.host = state_.hosts.size()});
      state_.hosts.push_back(host);
    }
  }

  static Duration ahead(std::size_t host) { return host == 1 ? Duration(hours(1)) : Duration(0); }
  std::int64_t ns(Duration after, std::size_t host) const {
    return (kBegin + after + ahead(host)).time_since_epoch().count();
  }

  // Each of 10 steps lasts a second. Rank 1 calls the operation of each 0.4 s later than rank 0,
  // and it ends 0.1 s after that.
  messages::FromAgent measured(std::size_t host, std::uint32_t rank) const {
    messages::FromAgent message;
    message.set_epoch(state_.epoch);
    messages::RankMeasured& measured = *message.mutable_measured();
    measured.set_rank(rank);
    measured.set_time_ns(ns(seconds(10), host));
    measured.set_joined_ns(ns(Duration(0), host));
    const Duration exposed = milliseconds(rank == 0 ? 500 : 100);
    messages::Steps& steps = *measured.mutable_steps();
    steps.set_steps(10);
    steps.set_samples(640);
    steps.set_begin_ns(ns(Duration(0), host));
    steps.set_end_ns(ns(seconds(10), host));
    const Duration parts[] = {seconds(10) - 10 * exposed, 10 * exposed, Duration(0), Duration(0)};
    for (const Duration part : parts) steps.add_part_ns(part.count());
    steps.set_exposed_ns(10 * Duration(exposed).count());
    messages::CountedOperations& counted = *measured.add_counted();
    counted.set_group(7);
    counted.set_size(2);
    messages::OperationTotals& totals = *counted.add_totals();
    totals.set_kind(static_cast<std::uint32_t>(OperationKind::kAllReduce));
    totals.set_count(10);
    totals.set_bytes(4000);
    totals.set_time_ns(10 * Duration(exposed).count());
    totals.set_exposed_ns(10 * Duration(exposed).count());
    messages::SampledOperations& group = *measured.add_sampled();
    group.set_weight(1);
    group.set_group(7);
    group.set_size(2);
    for (int step = 0; step < 10; ++step) {
      messages::OperationSample& sample = *group.add_samples();
      sample.set_sequence(static_cast<std::uint64_t>(step));
      sample.set_kind(static_cast<std::uint32_t>(OperationKind::kAllReduce));
      const Duration ended = seconds(step + 1);
      sample.set_called_ns(ns(ended - exposed, host));
      sample.set_ended_ns(ns(ended, host));
      sample.set_exposed_ns(Duration(exposed).count());
    }
    return message;
  }

  static HostFigures busy_cpus(double seconds) {
    HostFigures figures;
    figures.set(HostFigure::kCpuBusy, seconds);
    return figures;
  }

  void say(std::size_t host, const messages::FromAgent& message, Duration at = seconds(10)) {
    telemetry_.saw(kBegin + at, AgentSaid{.host = host, .message = message}, state_);
  }

  static constexpr TimePoint kBegin{std::chrono::hours(100)};
  JobState state_;
  std::vector<std::string> said_;
  JobTelemetry telemetry_{
      {.say = [this](const std::string& line) { said_.push_back(line); }, .baseline = {}}};
};

TEST_F(JobTelemetryTest, SaysAtTheEndWhoWasLate) {
  say(0, measured(0, 0));
  say(1, measured(1, 1), seconds(10) + milliseconds(1));  // on its way for 1 ms
  EXPECT_TRUE(said_.empty());
  state_.finished = true;
  telemetry_.saw(kBegin + seconds(11), TimePassed{}, state_);
  telemetry_.saw(kBegin + seconds(12), TimePassed{}, state_);
  ASSERT_EQ(said_.size(), 2u);
  EXPECT_EQ(said_[0], "10 steps of 1.00 s on 2 ranks, 128 samples/s");
  EXPECT_EQ(said_[1],
            "scaling efficiency 70 % (estimate: compute / step time); lost to: waiting 20 % (20 % "
            "for rank 1 on h2: its computation took longer), moving data 10 %");
}

TEST_F(JobTelemetryTest, AnAblatedJobSaysItsCeiling) {
  std::vector<std::string> said;
  JobTelemetry telemetry({.say = [&said](const std::string& line) { said.push_back(line); },
                          .baseline = {},
                          .ablation = {.input = true},
                          .whole =
                              [](const std::vector<std::string>& hosts) {
                                EXPECT_EQ(hosts, (std::vector<std::string>{"h1", "h2"}));
                                return std::optional(WholeRun{.step_seconds = 1.5, .when = "then"});
                              }});
  for (const std::size_t rank : {0U, 1U}) {
    messages::FromAgent message = measured(rank, static_cast<std::uint32_t>(rank));
    message.mutable_measured()->mutable_steps()->set_repeats_input(rank == 1);
    telemetry.saw(kBegin + seconds(10), AgentSaid{.host = rank, .message = message}, state_);
  }
  state_.finished = true;
  telemetry.saw(kBegin + seconds(11), TimePassed{}, state_);
  ASSERT_EQ(said.size(), 4u);
  EXPECT_EQ(said[2],
            "with repeated input: 1.00 s a step, 1.50 times as fast as the run of then "
            "(1.50 s)");
  EXPECT_TRUE(telemetry.figures()->repeats_input);
}

TEST_F(JobTelemetryTest, LinksAreOfHostsAndOfTheLatestStart) {
  say(0, measured(0, 0));
  for (const std::size_t host : {0U, 1U, 9U}) {
    messages::FromAgent message;
    message.set_epoch(state_.epoch);
    messages::LinkUse& link = *message.mutable_links()->add_links();
    link.set_from(host == 0 ? "10.0.0.1" : "10.0.0.2");
    link.set_to(host == 0 ? "10.0.0.2" : "10.0.0.1");
    link.set_bytes(1000 + host);
    link.set_busy_ns(host == 0 ? 5'000'000'000 : -1);  // a negative time is nonsense
    say(host, message);
  }
  EXPECT_TRUE(telemetry_.figures()->links.empty());  // whose address is 10.0.0.2?
  messages::FromAgent sane;
  sane.set_epoch(state_.epoch);
  sane.mutable_links()->add_links()->set_from("10.0.0.2");
  say(1, sane);
  ASSERT_EQ(telemetry_.figures()->links.size(), 1u);
  EXPECT_EQ(telemetry_.figures()->links[0],
            (LinkSummary{.from = "h1", .to = "h2", .bytes = 1000, .busy_seconds = 5}));
  sane.set_epoch(state_.epoch + 1);
  sane.mutable_links()->mutable_links(0)->set_from("10.0.0.3");
  say(1, sane);
  EXPECT_EQ(telemetry_.figures()->links.size(), 1u);
}

// Data for a rank that does not read is acknowledged late, which does not make the link slow.
TEST_F(JobTelemetryTest, ALinkToARankThatIsLateByItselfIsNotSlow) {
  const auto say_links = [this] {
    for (const std::size_t host : {0U, 1U}) {
      messages::FromAgent message;
      message.set_epoch(state_.epoch);
      messages::LinkUse& link = *message.mutable_links()->add_links();
      link.set_from(host == 0 ? "10.0.0.1" : "10.0.0.2");
      link.set_to(host == 0 ? "10.0.0.2" : "10.0.0.1");
      link.set_bytes(1'000'000);
      link.set_busy_ns(host == 0 ? 5'000'000'000 : 1'500'000'000);
      say(host, message);
    }
  };
  const auto say_use = [this](Duration stopped) {
    for (const int second : {1, 9})
      for (const std::size_t host : {0U, 1U}) {
        messages::FromAgent message = measured(host, static_cast<std::uint32_t>(host));
        if (second == 1) message.mutable_measured()->clear_sampled();
        messages::RankUsage& usage = *message.mutable_measured()->mutable_usage();
        usage.set_time_ns(ns(seconds(second), host));
        if (host == 1 && second == 9) usage.set_stopped_ns(stopped.count());
        say(host, message);
      }
  };
  say_links();
  say_use(Duration(0));
  ASSERT_EQ(telemetry_.figures()->slow_links.size(), 1u);
  EXPECT_EQ(telemetry_.figures()->slow_links[0].link.to, "h2");
  state_.epoch = 1;
  say_links();
  say_use(seconds(4));
  EXPECT_EQ(telemetry_.figures()->waited_for[0].cause, "it was stopped");
  EXPECT_TRUE(telemetry_.figures()->slow_links.empty());
}

TEST_F(JobTelemetryTest, TheRecordHasTheFigures) {
  say(0, measured(0, 0));
  say(1, measured(1, 1));
  const RunFigures figures = telemetry_.figures().value();
  EXPECT_EQ(figures.steps, 10u);
  EXPECT_NEAR(figures.efficiency, 0.7, 1e-9);
  EXPECT_FALSE(figures.is_measured);
  EXPECT_NEAR(figures.shares.at("waiting"), 0.2, 0.001);
  ASSERT_EQ(figures.waited_for.size(), 1u);
  EXPECT_EQ(figures.waited_for[0].host, "h2");
  EXPECT_EQ(figures.waited_for[0].cause, "its computation took longer");
  EXPECT_EQ(figures.ranks.size(), 2u);
  ASSERT_EQ(figures.blocks.size(), 1u);  // of both readings
  EXPECT_NEAR(figures.blocks[0].seconds(), 10, 1e-9);
  ASSERT_EQ(figures.operations.size(), 1u);
  EXPECT_EQ(figures.operations[0], (OperationSummary{.group = "",
                                                     .ranks = 2,
                                                     .kind = OperationKind::kAllReduce,
                                                     .count = 10,
                                                     .bytes = 4000,
                                                     .seconds = 3,
                                                     .exposed_seconds = 3}));
  EXPECT_EQ(telemetry_.hosts(), (std::vector<std::string>{"h1", "h2"}));
}

TEST_F(JobTelemetryTest, MessagesAboutOtherRanksAndStartsDoNotCount) {
  say(0, measured(0, 1));  // a rank of the other host
  say(0, measured(0, 7));  // one that does not exist
  messages::FromAgent old = measured(0, 0);
  old.set_epoch(3);
  say(0, old);
  EXPECT_FALSE(telemetry_.figures());
}

TEST_F(JobTelemetryTest, HostsAreInTheRecord) {
  say(0, measured(0, 0));
  for (const int second : {1, 3}) {
    messages::FromAgent message;
    message.set_epoch(state_.epoch);
    messages::HostMeasured& host = *message.mutable_host();
    host.set_time_ns(ns(seconds(second), 1));
    add_figures(busy_cpus(1.5 * second), *host.mutable_figures());
    host.mutable_clock()->set_ahead_ns(Duration(ahead(1)).count());
    host.mutable_clock()->set_error_ns(2000);
    messages::GpuMeasured& gpu = *host.add_gpus();
    gpu.set_name("Test");
    messages::Figure& nonsense = *gpu.add_figures();
    nonsense.set_value(-1);
    *gpu.add_figures() = nonsense;
    gpu.mutable_figures(1)->set_kind(4'000'000'000);
    say(1, message);
    say(9, message);
  }
  const std::vector<HostSummary> hosts = telemetry_.figures()->hosts;
  ASSERT_EQ(hosts.size(), 1u);
  EXPECT_EQ(hosts[0].host, "h2");
  EXPECT_EQ(hosts[0].figures.get(HostFigure::kCpuBusy), 1.5);
  EXPECT_EQ(hosts[0].clock_error_s, 2e-6);
  EXPECT_TRUE(hosts[0].gpus.empty()) << "nothing is known of the GPU";
  EXPECT_EQ(telemetry_.host(1)->figures.get(HostFigure::kCpuBusy), 4.5);
  EXPECT_EQ(telemetry_.host(0), nullptr);
}

// Rank 1 seems to be late by what its clock is ahead, if that is not known.
TEST_F(JobTelemetryTest, ClocksAreAlignedByWhatAgentsSay) {
  messages::FromAgent told;
  told.set_epoch(state_.epoch);
  told.mutable_host()->set_time_ns(ns(seconds(9), 1));
  told.mutable_host()->mutable_clock()->set_ahead_ns(Duration(ahead(1)).count());
  told.mutable_host()->mutable_clock()->set_error_ns(1000);
  say(1, told);
  say(0, measured(0, 0));
  say(1, measured(1, 1), seconds(10) + milliseconds(300));  // on its way for long
  EXPECT_NEAR(telemetry_.figures()->shares.at("waiting"), 0.2, 0.001);
  EXPECT_EQ(telemetry_.readings()[1]->ahead, ahead(1));
  EXPECT_EQ(telemetry_.readings()[1]->clock_error, Duration(1000));
  EXPECT_FALSE(telemetry_.readings()[0]->clock_error);
}

TEST_F(JobTelemetryTest, ARestartBeginsAnew) {
  say(0, measured(0, 0));
  EXPECT_TRUE(telemetry_.figures());
  EXPECT_EQ(telemetry_.restarts(), 0);
  state_.epoch = 1;
  telemetry_.saw(kBegin + seconds(20), TimePassed{}, state_);
  EXPECT_FALSE(telemetry_.figures());
  EXPECT_EQ(telemetry_.restarts(), 1);
}

TEST_F(JobTelemetryTest, AMessageOfNonsenseDoesNoHarm) {
  messages::FromAgent message = measured(0, 0);
  message.mutable_measured()->mutable_steps()->set_part_ns(0, INT64_MAX);
  say(0, message);
  EXPECT_FALSE(telemetry_.figures());
  message = measured(0, 0);
  messages::CountedOperations& counted = *message.mutable_measured()->add_counted();
  counted.set_name(std::string(1000, '\xff'));
  counted.add_totals()->set_kind(4'000'000'000);
  messages::SampledOperations& group = *message.mutable_measured()->add_sampled();
  messages::OperationSample& sample = *group.add_samples();
  sample.set_kind(4'000'000'000);
  sample.set_called_ns(INT64_MIN);
  sample.set_exposed_ns(INT64_MAX);
  say(0, message);
  say(1, measured(1, 1));
  EXPECT_TRUE(telemetry_.figures());
}

}  // namespace
}  // namespace paceline::launcher
