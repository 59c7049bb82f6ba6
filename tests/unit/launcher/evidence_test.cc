#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "launcher/head/evidence_recorder.h"
#include "launcher/head/evidence_replay.h"
#include "launcher/head/job_files.h"
#include "launcher/head/job_telemetry.h"
#include "tests/harness/file_tree.h"
#include "tests/unit/launcher/says.h"

namespace paceline::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kEvidenceBegin{std::chrono::hours(100)};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A job of two hosts with a rank each.
class EvidenceTest : public ::testing::Test {
 protected:
  EvidenceTest() {
    for (const char* const name : {"h1", "h2"}) {
      HostState host;
      host.name = name;
      state_.ranks.push_back({.host = state_.hosts.size()});
      state_.hosts.push_back(host);
    }
  }

  std::unique_ptr<EvidenceRecorder> recorder(const std::string& path,
                                             std::size_t most_bytes = kMostEvidenceBytes) {
    return std::make_unique<EvidenceRecorder>(
        EvidenceRecorder::Options{.file = GrowingFile::make(path, "evidence").value(),
                                  .say = [this](const std::string& text) { said_.push_back(text); },
                                  .most_bytes = most_bytes});
  }

  // Each step lasts a second, and rank 1 calls its operation 0.4 s after rank 0.
  messages::FromAgent measured(std::uint32_t rank, int second) const {
    messages::FromAgent message;
    message.set_epoch(state_.epoch);
    messages::RankMeasured& measured = *message.mutable_measured();
    const auto ns = [](Duration after) {
      return (kEvidenceBegin + after).time_since_epoch().count();
    };
    const Duration exposed = milliseconds(rank == 0 ? 500 : 100);
    measured.set_rank(rank);
    measured.set_time_ns(ns(seconds(second)));
    messages::Steps& steps = *measured.mutable_steps();
    steps.set_steps(static_cast<std::uint64_t>(second));
    steps.set_begin_ns(ns(seconds(0)));
    steps.set_end_ns(ns(seconds(second)));
    for (const Duration part :
         {second * (seconds(1) - exposed), second * exposed, Duration(0), Duration(0)})
      steps.add_part_ns(part.count());
    messages::SampledOperations& group = *measured.add_sampled();
    group.set_group(7);
    group.set_size(2);
    group.set_weight(1);
    messages::OperationSample& sample = *group.add_samples();
    sample.set_sequence(static_cast<std::uint64_t>(second));
    sample.set_kind(static_cast<std::uint32_t>(OperationKind::kAllReduce));
    sample.set_called_ns(ns(seconds(second) - exposed));
    sample.set_ended_ns(ns(seconds(second)));
    sample.set_exposed_ns(exposed.count());
    return message;
  }

  void tell(JobObserver& observer, int from, int to) const {
    for (int second = from; second <= to; ++second)
      for (const std::size_t host : {0U, 1U})
        observer.saw(
            kEvidenceBegin + seconds(second),
            AgentSaid{.host = host, .message = measured(static_cast<std::uint32_t>(host), second)},
            state_);
  }
  void end(JobObserver& observer) {
    state_.finished = true;
    observer.saw(kEvidenceBegin + seconds(100), TimePassed{}, state_);
  }
  // Of a job of ten steps.
  std::string recorded() {
    const auto recorder = this->recorder(path_);
    tell(*recorder, 1, 10);
    end(*recorder);
    return bytes_of(path_);
  }

  const testing::FileTree files_;
  const std::string path_ = files_.root() + "/job.evidence";
  JobState state_;
  std::vector<std::string> said_;
};

TEST_F(EvidenceTest, AReplayHasTheFiguresOfTheJob) {
  JobTelemetry telemetry({});
  const auto recorder = this->recorder(path_);
  for (const int epoch : {0, 1}) {
    state_.epoch = static_cast<std::uint32_t>(epoch);
    tell(telemetry, 1 + 10 * epoch, 10 + 10 * epoch);
    tell(*recorder, 1 + 10 * epoch, 10 + 10 * epoch);
  }
  end(*recorder);
  recorder->saw(kEvidenceBegin + seconds(101), TimePassed{}, state_);
  const Evidence evidence = read_evidence(bytes_of(path_)).value();
  EXPECT_EQ(evidence.ending, EvidenceEnding::kWhole);
  EXPECT_EQ(evidence.items.size(), 2u + 40u + 1u);
  const auto figures = replayed_figures(evidence.items);
  ASSERT_TRUE(figures);
  EXPECT_EQ(*figures, *telemetry.figures());
  ASSERT_EQ(figures->waited_for.size(), 1u);
  EXPECT_EQ(figures->waited_for[0].cause, "its computation took longer");
  EXPECT_TRUE(said_.empty());
}

TEST_F(EvidenceTest, HasNothingThatTheVerdictDoesNotNeed) {
  const auto recorder = this->recorder(path_);
  messages::FromAgent host;
  host.mutable_host()->set_time_ns(5);
  host.mutable_host()->mutable_clock()->set_error_ns(7);
  host.mutable_host()->add_gpus()->set_name("Test");
  host.mutable_host()->add_figures()->set_value(1);
  messages::FromAgent output;
  output.mutable_output()->set_text("secret");
  messages::FromAgent old = measured(0, 1);
  old.set_epoch(3);
  for (const messages::FromAgent& message : {host, output, old})
    recorder->saw(kEvidenceBegin, AgentSaid{.host = 1, .message = message}, state_);
  recorder->saw(kEvidenceBegin, AgentSaid{.host = 9, .message = measured(0, 1)}, state_);
  end(*recorder);
  const Evidence evidence = read_evidence(bytes_of(path_)).value();
  ASSERT_EQ(evidence.items.size(), 3u);
  const messages::HostMeasured& kept = evidence.items[1].said().message().host();
  EXPECT_EQ(kept.time_ns(), 5);
  EXPECT_EQ(kept.clock().error_ns(), 7);
  EXPECT_EQ(kept.gpus_size() + kept.figures_size(), 0);
}

TEST_F(EvidenceTest, CanBeReadWhileTheJobRuns) {
  const auto recorder = this->recorder(path_);
  tell(*recorder, 1, 3);
  const Evidence evidence = read_evidence(bytes_of(path_)).value();
  EXPECT_EQ(evidence.ending, EvidenceEnding::kBrokenOff);
  EXPECT_GE(evidence.items.size(), 1u + 4u);
}

TEST_F(EvidenceTest, AFileThatIsFullSaysSo) {
  const auto recorder = this->recorder(path_, 70'000);
  tell(*recorder, 1, 200);
  end(*recorder);
  const Evidence evidence = read_evidence(bytes_of(path_)).value();
  EXPECT_EQ(evidence.ending, EvidenceEnding::kCut);
  EXPECT_LE(bytes_of(path_).size(), 70'000u);
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_TRUE(says(said_[0], "the evidence ends early: it has its max size")) << said_[0];
}

TEST_F(EvidenceTest, AFullDiskIsWarnedOfOnce) {
  const auto recorder = this->recorder("/dev/full");
  tell(*recorder, 1, 10);
  end(*recorder);
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_TRUE(says(said_[0], "'/dev/full'")) << said_[0];
}

TEST_F(EvidenceTest, APartIsReadUpToItsEnd) {
  const std::string file = recorded();
  std::size_t read = 0;
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto part = read_evidence(std::string_view(file).substr(0, size));
    if (!part.ok()) {
      EXPECT_TRUE(says(std::string(part.status().text()), "it has no items")) << size;
      continue;
    }
    EXPECT_GE(part->items.size(), read) << size;
    read = part->items.size();
    (void)replayed_figures(part->items);
  }
  EXPECT_GE(read, 20u);
  EXPECT_FALSE(read_evidence(file + "x").ok());
}

TEST_F(EvidenceTest, AnAlteredFileIsRefusedInWords) {
  const std::string file = recorded();
  for (std::size_t at = 0; at < file.size(); ++at)
    for (const int bit : {0, 3, 7}) {
      std::string altered = file;
      altered[at] = static_cast<char>(altered[at] ^ (1 << bit));
      const auto evidence = read_evidence(altered);
      if (evidence.ok())
        (void)replayed_figures(evidence->items);
      else
        EXPECT_TRUE(says(std::string(evidence.status().text()), "the evidence ")) << at;
    }
}

TEST_F(EvidenceTest, ItemsAreChecked) {
  const auto refusal = [](const std::vector<messages::EvidenceItem>& items) {
    EvidencePacker packer;
    for (const messages::EvidenceItem& item : items) packer.add(item);
    const auto evidence = read_evidence(packer.finish());
    return evidence.ok() ? "" : std::string(evidence.status().text());
  };
  messages::EvidenceItem start, said, end;
  start.mutable_start()->set_version(kEvidenceVersion);
  start.mutable_start()->add_hosts("h1");
  start.mutable_start()->add_rank_hosts(0);
  said.mutable_said();
  end.mutable_end();
  EXPECT_EQ(refusal({start, said, end}), "");
  EXPECT_TRUE(says(refusal({said}), "its first item is not a start"));
  EXPECT_TRUE(says(refusal({start, start}), "its starts are not in order"));
  EXPECT_TRUE(says(refusal({start, end, said}), "something follows its last item"));
  EXPECT_TRUE(says(refusal({}), "it has no items"));
  said.mutable_said()->set_host(1);
  EXPECT_TRUE(says(refusal({start, said}), "a message is from host number 1 of 1"));
  said.set_time_ns(-1);
  EXPECT_TRUE(says(refusal({start, said}), "its times are not in order"));
  start.mutable_start()->add_rank_hosts(1);
  EXPECT_TRUE(says(refusal({start}), "a rank is on host number 1 of 1"));
  start.mutable_start()->set_version(9);
  EXPECT_EQ(refusal({start}), "the evidence has version 9; this paceline reads version 1");
}

TEST_F(EvidenceTest, TwoOutputsAreNotOneFile) {
  JobSpec job;
  job.trace_file = path_;
  job.evidence_file = files_.root() + "/./job.evidence";
  const auto refused = JobFiles::make(job);
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(says(std::string(refused.status().text()), "--trace and --evidence both write"));
  job.trace_file = job.evidence_file = "/dev/null";
  EXPECT_TRUE(JobFiles::make(job).ok());
}

}  // namespace
}  // namespace paceline::launcher
