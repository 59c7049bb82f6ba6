// Gives each rank a step ledger, and tells the head each second what the ranks have done, and how
// their host is used.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "launcher/agent/flight_book.h"
#include "launcher/agent/gpu_watch.h"
#include "launcher/agent/link_meter.h"
#include "launcher/agent/rank_gpu.h"
#include "launcher/agent/rank_service.h"
#include "launcher/agent/rank_usage.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/timer_group.h"
#include "telemetry/job/clock_alignment.h"
#include "telemetry/job/sample_reader.h"
#include "telemetry/step_ledger.h"

namespace paceline::launcher {

class TelemetryService final : public RankService {
 public:
  using Tell = std::function<void(const messages::FromAgent&)>;
  /// The GPUs of the host as they were a moment ago; empty: there are none, or it is not known.
  using ReadGpus = std::function<GpuWatch::Gpus()>;

  TelemetryService(EventLoop& loop, std::shared_ptr<FlightBook> flights, Tell tell,
                   ReadGpus read_gpus)
      : clock_(loop.clock()),
        flights_(std::move(flights)),
        tell_(std::move(tell)),
        read_gpus_(std::move(read_gpus)),
        timers_(loop) {}

  Status prepare(const messages::Start& start) override;
  Status equip(int local_rank, RankEquipment& rank) override;
  void started(const messages::RankStarted& rank) override;
  void ended(const messages::ProcessExited& exited, messages::RankExited& report) override;
  /// The head has answered ClockAsked.
  void take_clock(const messages::ClockTold& told);

 private:
  struct Rank {
    std::unique_ptr<StepLedger> ledger;
    SampleReader reader;
    std::vector<RankSamples> samples;    // not sent yet
    std::unique_ptr<UsageReader> usage;  // once it runs
    VisibleGpu gpu;
  };

  void look();
  std::vector<GroupOperations> take_samples(std::uint32_t number, Rank& rank);
  void measure(std::uint32_t number, Rank& rank);
  void measure_host();
  void measure_links();
  void ask_for_time();

  const Clock& clock_;  // the loop's
  const std::shared_ptr<FlightBook> flights_;
  const Tell tell_;
  const ReadGpus read_gpus_;
  std::uint32_t epoch_ = 0;
  // At a look; in large jobs only for each message.
  std::size_t most_samples_ = 0;
  bool takes_at_looks_ = false;
  std::vector<std::uint32_t> numbers_;    // by local rank
  std::vector<VisibleGpu> visible_gpus_;  // by local rank
  std::map<std::uint32_t, Rank> ranks_;   // that have not ended, by number
  LinkMeter links_;
  ClockAlignment clock_of_head_;
  GpuWatch::Gpus gpus_;  // at the last look
  std::size_t looks_ = 0;
  bool is_looking_ = false;
  TimerGroup timers_;
};

}  // namespace paceline::launcher
