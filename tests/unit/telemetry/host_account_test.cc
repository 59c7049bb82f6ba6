#include "telemetry/job/host_account.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

HostReading reading(int second, double busy, double available) {
  HostReading made{.time = seconds(1000 + second), .figures = {}, .gpus = {}};
  made.figures.set(HostFigure::kCpus, 2);
  made.figures.set(HostFigure::kCpuBusy, 500 + busy);
  made.figures.set(HostFigure::kMemoryAvailable, available);
  return made;
}

GpuReading gpu(int number, double busy, double limits) {
  GpuReading made{.number = number, .name = "Test", .figures = {}};
  made.figures.set(GpuFigure::kBusy, busy);
  made.figures.set(GpuFigure::kClockLimits, limits);
  made.figures.set(GpuFigure::kUncorrectedErrors, 7 + busy);
  return made;
}

TEST(Figures, UnknownIsNotZero) {
  HostFigures figures;
  EXPECT_TRUE(figures.is_empty());
  EXPECT_FALSE(figures.get(HostFigure::kSent));
  figures.set(HostFigure::kSent, 0);
  EXPECT_EQ(figures.get(HostFigure::kSent), 0);
  figures.set(HostFigure::kSent, std::nullopt);
  EXPECT_EQ(figures.get(HostFigure::kSent), 0) << "what was known stays";
  EXPECT_NE(figures, HostFigures());
  EXPECT_EQ(HostFigures(), HostFigures());
}

TEST(Figures, LimitsOfClocksHaveWords) {
  using Words = std::vector<std::string_view>;
  EXPECT_EQ(clock_limit_words(0), Words());
  EXPECT_EQ(clock_limit_words(1), Words()) << "an idle GPU";
  EXPECT_EQ(clock_limit_words(0x4 | 0x80 | 0x20), (Words{"power", "heat"}));
  EXPECT_EQ(clock_limit_words(0x4000), Words{"other"});
  EXPECT_EQ(clock_limit_words(1e300), Words());
}

TEST(HostAccount, SummarizesWhatIsKnown) {
  HostAccount account;
  account.begin({"h1", "h2"});
  EXPECT_TRUE(account.summaries().empty());
  account.take(0, reading(0, 0, 100));
  account.take(0, reading(2, 3, 80));
  account.take(0, reading(4, 6, 90));
  const std::vector<HostSummary> hosts = account.summaries();
  ASSERT_EQ(hosts.size(), 1U) << "of the other host nothing is known";
  const HostFigures& figures = hosts[0].figures;
  EXPECT_EQ(hosts[0].host, "h1");
  EXPECT_EQ(figures.get(HostFigure::kCpuBusy), 1.5);
  EXPECT_EQ(figures.get(HostFigure::kMemoryAvailable), 80);
  EXPECT_EQ(figures.get(HostFigure::kCpus), 2);
  EXPECT_FALSE(figures.get(HostFigure::kDiskRead));
  EXPECT_EQ(account.latest(0)->time, seconds(1004));
  EXPECT_EQ(account.latest(1), nullptr);
  EXPECT_EQ(account.latest(9), nullptr);
}

TEST(HostAccount, OneReadingHasNoRates) {
  HostAccount account;
  account.begin({"h1"});
  account.take(0, reading(0, 0, 100));
  EXPECT_FALSE(account.summaries()[0].figures.get(HostFigure::kCpuBusy));
  EXPECT_EQ(account.summaries()[0].figures.get(HostFigure::kCpus), 2);
}

TEST(HostAccount, ACounterThatFallsHasBegunAnew) {
  HostAccount account;
  account.begin({"h1"});
  for (const auto& [second, busy] : {std::pair(0, 0), {1, 2}, {2, -400}, {3, -398}})
    account.take(0, reading(second, busy, 1));
  EXPECT_DOUBLE_EQ(*account.summaries()[0].figures.get(HostFigure::kCpuBusy), 4.0 / 3);
}

TEST(HostAccount, GpusThatDoNotAnswerCountWhileTheyDid) {
  HostAccount account;
  account.begin({"h1"});
  HostReading with_gpus = reading(0, 0, 1);
  with_gpus.gpus = {gpu(0, 1, 0), gpu(2, 0.5, 0x4), gpu(-1, 1, 0), gpu(1000, 1, 0)};
  account.take(0, with_gpus);
  EXPECT_EQ(account.latest(0)->gpus.size(), 2U);
  account.take(0, reading(1, 1, 1));
  with_gpus.time = seconds(1002);
  with_gpus.gpus = {gpu(0, 0, 0x20), gpu(2, 0.5, 0)};
  account.take(0, with_gpus);
  const std::vector<GpuReading> gpus = account.summaries()[0].gpus;
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].figures.get(GpuFigure::kBusy), 0.5);
  EXPECT_EQ(gpus[0].figures.get(GpuFigure::kClockLimits), 0x20);
  EXPECT_EQ(gpus[1].number, 2);
  EXPECT_EQ(gpus[1].figures.get(GpuFigure::kClockLimits), 0x4);
  EXPECT_EQ(gpus[1].figures.get(GpuFigure::kUncorrectedErrors), 0);
}

TEST(HostAccount, TheErrorOfTheClockIsTheLastOne) {
  HostAccount account;
  account.begin({"h1"});
  HostReading one = reading(0, 0, 1);
  one.clock_error = milliseconds(2);
  account.take(0, one);
  EXPECT_EQ(account.summaries()[0].clock_error_s, 0.002);
  account.begin({"h1"});
  EXPECT_EQ(account.latest(0), nullptr);
  account.take(7, one);
  EXPECT_TRUE(account.summaries().empty());
}

}  // namespace
}  // namespace paceline
