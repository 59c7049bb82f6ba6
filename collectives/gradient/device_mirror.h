// The gradients of a pipeline in the memory of a device. The pipeline reduces a copy of them in its
// arena, which is host memory.
//
//   caller's stream   written
//   stream down         +--- copy ---> arrived
//   pipeline                             +--- bucket is reduced ---+
//   stream up                                                      +--- copy ---> returned
//   caller's stream                                                                 +--- forward
//
// If a library such as NCCL reduces buckets in the memory of the device, there are no copies: the
// operations of a bucket begin, in the order of the stream `down`, after kernels have written its
// gradients.
//
// After an error no copy is enqueued. Those that were enqueued are waited for: for a second, since
// the device or a stream of the caller may be stuck. Then the memory is never freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "collectives/device_lane.h"
#include "collectives/gradient/arena.h"
#include "collectives/gradient/schedule.h"
#include "collectives/gradient/stream_marks.h"
#include "collectives/held_communicator.h"
#include "comm/base/clock.h"
#include "comm/device/device.h"
#include "comm/engine.h"

namespace paceline {

class DeviceMirror final : private Driver {
 public:
  /// Called with the engine's baton held.
  class Owner {
   public:
    /// The gradient lies in the arena now.
    virtual void has_arrived(std::size_t gradient) = 0;
    /// For messages: "gradient 3 (head)".
    virtual std::string named(std::size_t gradient) const = 0;

   protected:
    ~Owner() = default;
  };

  /// On the device that is current for this thread. The memory has zeros, as the arena must have.
  /// `held` is borrowed, and the arena's memory until the destructor. Without the baton.
  static Result<std::unique_ptr<DeviceMirror>> make(HeldCommunicator& held, GradientArena& arena);
  /// Call leave() before.
  ~DeviceMirror() override;
  DeviceMirror(const DeviceMirror&) = delete;
  DeviceMirror& operator=(const DeviceMirror&) = delete;

  // From any thread, without the baton.

  /// The address in the device's memory that belongs to this offset of the arena.
  std::byte* at(std::size_t offset) const { return memory_ + offset; }
  /// Code::kInvalidArgument: the stream is of another device, or captured into a graph.
  Status check_stream(DeviceStream stream);
  /// Code::kInvalidArgument: the address is not in the device's memory.
  Status check_address(const void* address);

  /// Waits for a while until nothing is on its way. For use after an error.
  void drain();
  /// Waits for a second at most until nothing is on its way. Nothing is enqueued later. If copies
  /// may still run then, the memory of `arena` stays, too.
  void leave(GradientArena& arena);
  /// Operations may still use the memory, so it is never freed. For before leave().
  void leave_behind() { is_left_behind_ = true; }

  Device& device() const { return device_; }
  /// Work for a bucket that waits for its gradients, or that comes after operations on it which the
  /// host has seen end. They have streams of their own: the end of a bucket must not wait for the
  /// gradients of another one.
  enum class When : std::uint8_t { kBefore, kAfter };
  DeviceStream stream(When when) const { return when == When::kBefore ? down_ : up_; }
  /// See leave_behind() and leave().
  bool is_left_behind() const { return is_left_behind_; }

  // With the engine's baton held. A device error ends the communicator, and is returned.

  /// Ends the communicator by an error of the device, and returns it.
  Status note(Status how);
  /// Called once, before the first step.
  void open(Owner& owner) { owner_ = &owner; }
  /// A step with so many gradients and buckets begins.
  void begin_step(std::size_t gradients, std::size_t buckets);

  /// A kernel writes the gradient before this point of the stream.
  Status note_written(std::size_t gradient, DeviceStream stream);
  /// Copies the gradient into the arena, once it is written. `from`: null for its own place.
  Status copy_down(std::size_t gradient, const ByteSpan& place, const void* from);
  /// By gradient: copy_down() was called in this step.
  const std::vector<bool>& handed_in() const { return handed_in_; }

  /// Copies a gradient from elsewhere on the device to its place, in the order of `stream`.
  Status copy_within(const ByteSpan& place, const void* from, DeviceStream stream);
  /// Later work on stream(kBefore) begins after kernels have written these gradients.
  Status order_after(std::span<const std::size_t> gradients);
  /// Enqueues one of the gradient kernels. `arguments`: its struct.
  template <class Arguments>
  Status launch(const Kernel& kernel, const Arguments& arguments, When when) {
    return launch_bytes(kernel, std::as_bytes(std::span(&arguments, 1)), stream(when));
  }
  /// drain() and leave() wait for all that was enqueued on one of these streams, as for the rest.
  Status watch(DeviceStream stream);
  /// A mark after all that was enqueued on stream(kAfter). It must be reached within the timeout.
  Result<std::uint64_t> mark_after();
  bool is_reached(std::uint64_t mark) const { return after_.is_reached(mark); }
  /// Zeros for gradients that no kernel has written: copies of the arena's. They come before later
  /// work on stream(kBefore), and after the work that was enqueued on `stream`, or before ready()
  /// of other gradients.
  Status clear(std::span<const ByteSpan> places, DeviceStream stream);

  /// Later copies up begin after the work that was enqueued on this stream, and after what came
  /// before ready() of other gradients in this step, on any stream.
  Status order_up_after(DeviceStream stream);
  /// Copies a reduced bucket to the device.
  Status copy_up(std::size_t bucket, std::span<const ByteSpan> spans);
  bool is_enqueued(std::size_t bucket) const { return copied_up_[bucket]; }
  bool has_returned(std::size_t bucket) const { return is_enqueued(bucket) && !up_of(bucket); }
  /// All that were copied up have returned.
  bool have_returned() const { return ups_.empty(); }
  /// Later work in the stream begins after the bucket has returned. It is enqueued.
  Status let_wait(std::size_t bucket, DeviceStream stream);
  /// The same for all that were copied up.
  Status let_wait(DeviceStream stream);

 private:
  struct Down {
    std::size_t gradient = 0;
    DeviceEvent written = nullptr;
    DeviceEvent arrived = nullptr;
    TimePoint deadline{};
  };
  struct Up {
    std::size_t bucket = 0;
    DeviceEvent returned = nullptr;
    TimePoint deadline{};
  };

  DeviceMirror(HeldCommunicator& held, Devices& devices, Device& device);

  Status launch_bytes(const Kernel& kernel, std::span<const std::byte> arguments,
                      DeviceStream stream);
  bool drive(TimePoint now) override;
  TimePoint wake_at() const override { return wake_at_; }

  Status look_at_stream(DeviceStream stream) const;
  Status look_at_address(const void* address) const;
  Status note_found(Status how);
  Status allocate(const GradientArena& arena);
  Status fill_with_zeros();
  Status enqueue_down(const ByteSpan& place, const void* from, const Down& down);
  Status enqueue_up(std::span<const ByteSpan> spans, DeviceEvent returned);
  Status let_down_wait_for(DeviceStream stream);
  bool land_down();
  bool land_up();
  bool land(StreamMarks& marks);
  bool has_passed(DeviceEvent event);
  void check_deadlines(TimePoint now);
  void abandon();
  void keep_driven();
  void stop_driving();
  const Up* up_of(std::size_t bucket) const;
  bool is_still() const {
    return downs_.empty() && ups_.empty() && copied_within_.is_still() && before_.is_still() &&
           after_.is_still();
  }
  TimePoint deadline() const;

  HeldCommunicator& held_;
  Engine& engine_;
  Devices& devices_;
  Device& device_;
  Owner* owner_ = nullptr;
  std::span<std::byte> host_{};  // pinned; empty: nothing is
  std::byte* memory_ = nullptr;  // of the device, as long as host_
  DeviceStream down_ = nullptr;
  DeviceStream up_ = nullptr;
  EventPool events_;
  std::vector<DeviceEvent> written_;  // by gradient; null: no kernel has written it
  std::vector<bool> handed_in_;       // by gradient
  std::vector<bool> copied_up_;       // by bucket
  bool has_copied_down_ = false;      // in this step
  DeviceEvent up_after_ = nullptr;    // what the next copy up comes after; null: nothing
  std::deque<Down> downs_;            // on their way, in the order of the stream
  std::deque<Up> ups_;
  StreamMarks copied_within_;                // on any stream of the caller
  StreamMarks before_, after_;               // on these streams
  TimePoint drained_by_ = TimePoint::max();  // after an error
  bool is_left_behind_ = false;
  bool is_attached_ = false;
  PollPace pace_;
  TimePoint wake_at_ = TimePoint::max();
};

}  // namespace paceline
