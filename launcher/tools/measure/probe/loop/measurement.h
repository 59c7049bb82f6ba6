// The loop that measures an operation: the same for every library.
//
// All ranks meet before each sample, spread evenly over the CPUs; a sample's time is from the first
// begin to the last end over all ranks. Up to 8 KiB a sample is a batch of calls, the inputs
// rewritten before each within the time; beyond, it is one call, and inputs are rewritten and
// outputs read between the samples. With cold caches, and in the memory of GPUs, it is always one
// call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <paceline/status.h>

#include "collectives/plan/shape.h"
#include "comm/base/clock.h"
#include "comm/base/function_ref.h"
#include "launcher/tools/measure/probe/loop/meeting.h"
#include "launcher/tools/measure/probe/loop/operation.h"
#include "launcher/tools/measure/probe/loop/orders.h"
#include "launcher/tools/measure/probe/loop/pattern.h"
#include "launcher/tools/measure/probe/loop/row.h"

namespace paceline::probe {

/// One rank's end of it; every call is collective.
class Measurement {
 public:
  struct Parts {
    Subject& subject;
    Meeting& meeting;
    const Clock& clock;
  };
  /// Everything is borrowed, `orders` too. Allocates and touches what the longest size needs.
  static Result<std::unique_ptr<Measurement>> create(const Parts& parts, const Orders& orders);

  /// An array of `bytes`, or the whole blocks that fit into it, is what is measured from now on.
  /// Looks at results, where that is asked for, and finds out how many calls fit into the time.
  Status prepare(std::size_t bytes);
  /// Calls that nobody measures, for caches in which something else has been meanwhile.
  Status warm_up();
  /// Of what has been prepared. Every rank gets the same row, but for limit_ns, which it does not
  /// know.
  Result<Row> measure();
  Result<Row> measure(std::size_t bytes) {
    const Status prepared = prepare(bytes);
    return prepared.ok() ? measure() : prepared;
  }
  /// How fast ranks 0 to `copiers` - 1 copy as many bytes at once (at most kMaxCopy), bytes of all
  /// destinations per nanosecond. Needs a meeting with one clock.
  Result<double> copy_bytes_per_ns(std::size_t bytes, int copiers);

  static constexpr std::size_t kMaxCopy = std::size_t{64} << 20;

 private:
  Measurement(const Parts& parts, const Orders& orders);
  Status allocate();
  std::size_t count_of(std::size_t bytes) const;
  std::size_t array_bytes(std::size_t count) const;

  struct Plan {
    int batch = 1;
    int samples = 1;
  };
  Result<Plan> plan();
  Result<std::vector<double>> sample(const Plan& plan);
  Result<std::vector<double>> sample_in_time();
  Status take_samples(const Plan& plan);
  Status take_sample(FunctionRef<Status()> body);
  Status run_batch(int batch, bool rewrite);
  Call call_of(std::size_t count);
  Status rewrite_input();
  Status look_at_output();
  std::size_t wrong_elements(std::byte* output) const;
  Result<std::int64_t> sum(std::int64_t own);
  Result<std::int64_t> of_first_rank(std::int64_t own);
  Result<std::vector<double>> collect();
  void empty_caches();

  const Parts parts_;
  const Orders& orders_;
  const Operation& operation_;
  const int rank_;
  const int ranks_;
  const std::size_t blocks_;  // of an array; 0 where there is none
  const Pattern pattern_;
  std::byte* out_ = nullptr;      // of the subject; null where there are no elements
  std::byte* in_ = nullptr;       // of the subject; null: in place
  std::byte* staging_ = nullptr;  // of the host: what an array gets or has; null: not needed
  std::byte* scratch_ = nullptr;  // where copies go
  const std::size_t eviction_bytes_;
  std::byte* eviction_ = nullptr;      // null: caches stay warm
  std::vector<PlanRequest> requests_;  // what is measured, as all ranks ask for it
  Shape shape_;                        // of this rank's
  Call call_;                          // what is measured
  Plan plan_;                          // and how
  std::uint64_t calls_ = 0;
  std::int64_t wrong_ = 0;
  std::vector<std::int64_t> moments_;  // begin and end of each sample
};

}  // namespace paceline::probe
