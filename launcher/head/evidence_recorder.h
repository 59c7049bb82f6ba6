// Records the messages from which JobTelemetry finds late ranks and slow links, while the job runs:
// `paceline run --evidence`. evidence_replay.h finds them again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "launcher/channel/evidence_stream.h"
#include "launcher/head/growing_file.h"
#include "launcher/job/job_observer.h"

namespace paceline::launcher {

class EvidenceRecorder final : public JobObserver {
 public:
  struct Options {
    std::unique_ptr<GrowingFile> file;
    /// Gets one warning if the file cannot be written, or is full. The job goes on.
    std::function<void(const std::string&)> say;
    std::size_t most_bytes = kMostEvidenceBytes;  ///< of the file
  };

  explicit EvidenceRecorder(Options options) : options_(std::move(options)) {}
  /// Writes what is left of a job that has not ended.
  ~EvidenceRecorder() override;

  void saw(TimePoint now, const JobEvent& event, const JobState& state) override;

 private:
  messages::EvidenceItem item_at(TimePoint now);
  void note_start(TimePoint now, const JobState& state);
  void note_message(TimePoint now, const AgentSaid& said);
  void add(const messages::EvidenceItem& item);
  void end(TimePoint now, const std::string& cut);
  void write(const std::string& bytes);

  const Options options_;
  EvidencePacker packer_;
  std::optional<std::uint32_t> epoch_;
  TimePoint written_{}, latest_{};
  bool has_ended_ = false;  // nothing more is written
};

}  // namespace paceline::launcher
