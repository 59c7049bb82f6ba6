#include "launcher/registry/run_log.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "launcher/registry/run_text.h"

namespace paceline::launcher {
namespace {

RunEntry run_of(const std::string& id, int ranks = 2) {
  return {
      .id = id,
      .begin_s = 1795956900.25,
      .seconds = 1.5,
      .exit_code = 0,
      .ranks = ranks,
      .restarts = 1,
      .hosts = {"h1", "h2"},
      .command = "./train --name \"a b\"",
      .directory = "/work",
      .figures = RunFigures{
          .has_steps = true,
          .steps = 420,
          .step_seconds = 0.01,
          .samples_per_s = 1000,
          .flop_per_s = 0,
          .efficiency = 0.6,
          .is_measured = true,
          .shares = {{"compute", 0.6}, {"waiting", 0.4}},
          .operations = {{.group = "tp",
                          .ranks = 2,
                          .kind = OperationKind::kAllReduce,
                          .count = 3,
                          .bytes = 12,
                          .seconds = 1.5,
                          .exposed_seconds = 0.5}},
          .waited_for = {{.rank = 1, .host = "h2", .share = 0.4, .cause = "it was stopped"}},
          .links = {{.from = "h1", .to = "h2", .bytes = 9, .resent_bytes = 2, .busy_seconds = 3}},
          .slow_links = {{.link = {.from = "h1", .to = "h2", .bytes = 9}, .usual = 50}},
          .ranks = {{.waited_for = 0.4, .stopped = 0.5}, {.compute = 1}},
          .blocks = {{.steps = 40.5, .samples = 5184, .parts = {0.25, 0.125, 0.5, 0}},
                     {.steps = 39.5, .samples = 5056, .parts = {0.5, 0.25, 0.125, 1e-6}}}}};
}

TEST(RunEntry, NumbersThatAreNotFiniteAreZero) {
  RunEntry run = run_of("a");
  run.figures->flop_per_s = std::numeric_limits<double>::infinity();
  run.figures->shares["waiting"] = std::numeric_limits<double>::quiet_NaN();
  run.figures->ranks[0].stopped = std::numeric_limits<double>::quiet_NaN();
  const auto read = parse_run(line_of(run));
  ASSERT_TRUE(read);
  run.figures->flop_per_s = run.figures->shares["waiting"] = run.figures->ranks[0].stopped = 0;
  EXPECT_EQ(*read, run);
}

TEST(RunEntry, HostsAndGpusAreAsTheyWere) {
  RunEntry run = run_of("a");
  RunFigures& figures = *run.figures;
  figures.peak_flop_per_s = 312e12;
  figures.mfu = 0.38;
  figures.ranks[1].figures.set(HostFigure::kIoStalled, 0.125);
  HostSummary host{.host = "h1", .figures = {}, .gpus = {}};
  host.figures.set(HostFigure::kCpuBusy, 1.5);
  host.figures.set(HostFigure::kSent, 0);
  host.clock_error_s = 2.5e-5;
  GpuReading gpu{.number = 3, .name = "Test", .figures = {}};
  gpu.figures.set(GpuFigure::kPower, 251.5);
  host.gpus = {gpu};
  figures.hosts = {host, {.host = "h2", .figures = {}, .gpus = {}}};
  const std::string line = line_of(run);
  EXPECT_EQ(parse_run(line), run) << line;
  EXPECT_NE(line.find(R"("hosts":[{"host":"h1","cpus_busy":1.5,"sent_bytes_per_s":0.0,)"
                      R"("clock_error_seconds":2.5e-05,"gpus":[{"number":3,"name":"Test",)"
                      R"("power_watts":251.5}]},{"host":"h2"}])"),
            std::string::npos)
      << line;
}

TEST(RunEntry, BlocksThatCannotBeAreLeftOut) {
  RunEntry run = run_of("a");
  const std::vector<StepBlock> blocks = run.figures->blocks;
  run.figures->blocks.push_back({.steps = 1, .parts = {1e-12}});
  run.figures->blocks.push_back({.steps = 1, .parts = {1e12}});
  run.figures->blocks.push_back({.steps = 1e16, .parts = {1}});
  run.figures->blocks.push_back({.steps = 1e-300, .parts = {1}});
  const auto read = parse_run(line_of(run));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->figures->blocks, blocks);
}

class RunLogTest : public ::testing::Test {
 protected:
  ~RunLogTest() override { std::filesystem::remove_all(home_); }

  std::string file(const char* name = "runs.jsonl") const { return log_.folder() + "/" + name; }

  static std::string make_folder() {
    char name[] = "/tmp/paceline-runs-XXXXXX";
    return ::mkdtemp(name);
  }

  const std::string home_ = make_folder();
  const RunLog log_{home_ + "/.local/state/paceline"};
};

TEST_F(RunLogTest, KeepsRunsInTheirOrder) {
  ASSERT_TRUE(log_.append(run_of("a")).ok());
  RunEntry plain = run_of("b");
  plain.figures.reset();
  ASSERT_TRUE(log_.append(plain).ok());
  EXPECT_EQ(log_.read(), (std::vector<RunEntry>{run_of("a"), plain}));
  struct stat status {};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(RunLogTest, ALineThatWasCutLosesNoOther) {
  ASSERT_TRUE(log_.append(run_of("a")).ok());
  std::ofstream(file(), std::ios::app) << line_of(run_of("cut")).substr(0, 40);
  ASSERT_TRUE(log_.append(run_of("b")).ok());
  EXPECT_EQ(log_.read(), (std::vector<RunEntry>{run_of("a"), run_of("b")}));
}

TEST_F(RunLogTest, LinesOfOtherFormsAreLeftOut) {
  ASSERT_TRUE(log_.append(run_of("a")).ok());
  std::ofstream(file(), std::ios::app)
      << "[]\n{}\n{\"version\":2}\n\xff\n\n{\"version\":1,\"id\":7}\n";
  EXPECT_EQ(log_.read(), std::vector<RunEntry>{run_of("a")});
}

TEST_F(RunLogTest, LinesOfEarlierVersionsHaveNoBlocks) {
  std::string line = line_of(run_of("a"));
  const std::size_t blocks = line.find(",\"blocks\":");
  ASSERT_NE(blocks, std::string::npos);
  line.replace(blocks, line.find('}', blocks) + 1 - blocks, "");
  RunEntry expected = run_of("a");
  expected.figures->blocks.clear();
  EXPECT_EQ(parse_run(line), expected);
}

TEST_F(RunLogTest, NumbersOfBlocksAreShortAndWrongOnesAreLeftOut) {
  RunEntry run = run_of("a");
  run.figures->blocks.assign(
      2 * kMostRecordedBlocks,
      {.steps = 1 / 3.0, .samples = 1e6 / 7, .parts = {1 / 7.0, 1 / 9.0, 1 / 11.0, 2e-9}});
  EXPECT_LT(line_of(run).size(), 2 * kMostRecordedBlocks * 60);
  const auto read = parse_run(line_of(run));
  ASSERT_TRUE(read && read->figures);
  ASSERT_EQ(read->figures->blocks.size(), kMostRecordedBlocks);
  EXPECT_DOUBLE_EQ(read->figures->blocks[0].steps, 0.33333);
  EXPECT_DOUBLE_EQ(read->figures->blocks[0].samples, 142860);
  run.figures->blocks = {{.steps = 0, .parts = {1, 0, 0, 0}},
                         {.steps = 1, .parts = {1, -1, 1, 0}},
                         {.steps = 1, .parts = {0, 0, 0, 0}}};
  EXPECT_TRUE(parse_run(line_of(run))->figures->blocks.empty());
}

TEST_F(RunLogTest, ARunIsFoundByItsFirstDigits) {
  const std::vector<RunEntry> runs{run_of("3f2a"), run_of("3f7b"), run_of("9c00")};
  EXPECT_EQ(find_run(runs, "3f2").value().id, "3f2a");
  EXPECT_EQ(find_run(runs, "last").value().id, "9c00");
  EXPECT_NE(find_run(runs, "3f").status().text().find("2 runs begin so (3f2a and 3f7b)"),
            std::string::npos);
  EXPECT_NE(find_run(runs, "x").status().text().find("has no such run"), std::string::npos);
  EXPECT_NE(find_run({}, "last").status().text().find("has no run yet"), std::string::npos);
}

TEST_F(RunLogTest, IsBounded) {
  RunEntry long_run = run_of("a");
  long_run.command = std::string(100'000, 'x');
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(log_.append(long_run).ok());
  EXPECT_LT(std::filesystem::file_size(file()) + std::filesystem::file_size(file("runs.1.jsonl")),
            2 * RunLog::kMaxBytes + 1);
  EXPECT_GE(log_.read().size(), 10u);
}

TEST_F(RunLogTest, RunsThatEndTogetherAreAllKept) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([this] {
      for (int i = 0; i < 25; ++i) EXPECT_TRUE(log_.append(run_of("a")).ok());
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(log_.read().size(), 100u);
}

TEST_F(RunLogTest, AFullDiskIsNamedAndCutsNoLine) {
  ASSERT_TRUE(log_.append(run_of("a")).ok());
  std::filesystem::remove(file());
  std::filesystem::create_symlink("/dev/full", file());
  const Status full = log_.append(run_of("b"));
  EXPECT_EQ(full.code(), Code::kUnavailable);
  EXPECT_NE(full.text().find("runs.jsonl: No space left on device"), std::string::npos)
      << full.text();
}

TEST_F(RunLogTest, AUserWithoutAHomeKeepsNoRecord) {
  EXPECT_EQ(RunLog("/proc/nonexistent/paceline").append(run_of("a")).code(), Code::kDenied);
  EXPECT_TRUE(RunLog("/proc/nonexistent/paceline").read().empty());
}

TEST_F(RunLogTest, TheFolderIsThatOfTheState) {
  std::map<std::string, const char*> set;
  const auto variable = [&set](const char* name) {
    const auto found = set.find(name);
    return found == set.end() ? nullptr : found->second;
  };
  EXPECT_EQ(RunLog::user_folder(variable), std::nullopt);
  set["HOME"] = "/home/me";
  EXPECT_EQ(RunLog::user_folder(variable), "/home/me/.local/state/paceline");
  set["XDG_STATE_HOME"] = "relative";  // not allowed by the specification
  EXPECT_EQ(RunLog::user_folder(variable), "/home/me/.local/state/paceline");
  set["XDG_STATE_HOME"] = "/state";
  EXPECT_EQ(RunLog::user_folder(variable), "/state/paceline");
}

TEST_F(RunLogTest, TheBaselineIsTheLatestOneRankRunOfTheCommand) {
  RunEntry failed = run_of("failed", 1), other = run_of("other", 1), unmarked = run_of("none", 1);
  failed.exit_code = 1;
  other.directory = "/elsewhere";
  unmarked.figures.reset();
  const std::vector<RunEntry> runs{run_of("a", 1), run_of("b", 1), run_of("two", 2),
                                   failed,         other,          unmarked};
  EXPECT_EQ(baseline_of(runs, run_of("").command, "/work", {"h2", "h1"})->id, "b");
  EXPECT_FALSE(baseline_of(runs, "./other", "/work", {"h1"}));
  EXPECT_FALSE(baseline_of(runs, run_of("").command, "/work", {"h2"}));
}

RunEntry ablated(RunEntry run, const Ablation& ablation) {
  run.ablated = ablation;
  return run;
}

TEST_F(RunLogTest, AblatedRunsAreMarkedAndAreNoBaseline) {
  const RunEntry run = ablated(run_of("cut", 1), {.communication = true, .input = true});
  EXPECT_EQ(parse_run(line_of(run)), run);
  const std::vector<RunEntry> runs{run_of("a", 1), run};
  EXPECT_EQ(baseline_of(runs, run.command, "/work", {"h1"})->id, "a");
  const std::string table = runs_table({run_of("b"), ablated(run_of("c"), {.input = true})});
  EXPECT_NE(table.find("[--ablate input] ./train"), std::string::npos) << table;
  EXPECT_EQ(table.find("60 %"), table.rfind("60 %")) << table;
  EXPECT_EQ(ablation_words(run_of("a")), "");
  EXPECT_EQ(
      ablation_words(run),
      "Run cut used --ablate comm,input: its results are wrong on purpose, and its times "
      "show a ceiling. Its input was not repeated, because no rank asked for it after a step");
}

TEST_F(RunLogTest, AnAblatedRunIsComparedWithTheLatestWholeOne) {
  RunEntry failed = run_of("failed"), other = run_of("other"), unmarked = run_of("none");
  failed.exit_code = 1;
  other.hosts = {"h1"};
  unmarked.figures->has_steps = false;
  const std::vector<RunEntry> runs{run_of("a"),
                                   run_of("b"),
                                   run_of("four", 4),
                                   failed,
                                   other,
                                   unmarked,
                                   ablated(run_of("cut"), {.communication = true})};
  EXPECT_EQ(whole_run_of(runs, run_of(""))->id, "b");
  EXPECT_FALSE(whole_run_of(runs, run_of("", 3)));
}

TEST_F(RunLogTest, TheTableSaysWhatIsAnEstimate) {
  RunEntry estimated = run_of("0123456789");
  estimated.figures->is_measured = false;
  const std::string table = runs_table({run_of("a"), estimated, run_of("c", 1)});
  EXPECT_NE(table.find("  60 %"), std::string::npos) << table;
  EXPECT_NE(table.find("01234567  "), std::string::npos) << table;
  EXPECT_NE(table.find("  ~60 %"), std::string::npos) << table;
  EXPECT_NE(table.find("1000       -  "), std::string::npos) << table;
}

}  // namespace
}  // namespace paceline::launcher
