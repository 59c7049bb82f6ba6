#include "launcher/tools/measure/probe/check/flow.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <linux/tcp.h>  // its tcp_info has more fields than that of netinet/tcp.h
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "comm/base/try.h"
#include "launcher/tools/measure/probe/check/cpu_use.h"
#include "launcher/tools/measure/probe/check/link.h"
#include "launcher/tools/measure/probe/loop/statistics.h"

namespace paceline::probe {
namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;
// What waits in the sender's buffer behind what is on its way: it would only come later.
constexpr int kUnsent = 128 << 10;
constexpr int kLeastPings = 20;
constexpr int kMostPings = 5000;

// What a connection has sent: segments, those of them that it has sent again, and how many may be
// under way.
struct Sent {
  double segments = 0;
  double retransmits = 0;
  double window = 0;
};

// A kernel that does not know a field leaves it 0.
Sent sent_on(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  return {.segments = static_cast<double>(info.tcpi_data_segs_out),
          .retransmits = static_cast<double>(info.tcpi_total_retrans),
          .window = static_cast<double>(info.tcpi_snd_cwnd)};
}

// The bytes that have come through a connection. Those behind a lost segment are among them, but
// cannot be read before that segment comes again: `read` bytes may jump by a whole window, as if
// the link were faster than it is. Kernels before 4.6 tell only what was read.
double arrived_on(int fd, double read) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return read;
  const double arrived = static_cast<double>(info.tcpi_data_segs_in) * info.tcpi_rcv_mss;
  return arrived > 0 ? arrived : read;
}

// Bytes over time, from the middle of the flow to its end.
class SteadyRate {
 public:
  explicit SteadyRate(Duration time) : time_(time) {}

  /// `bytes` have been read from the connection.
  void add(std::size_t bytes, TimePoint now, int fd) {
    if (total_ == 0) begin_ = now;
    total_ += static_cast<double>(bytes);
    last_ = now;
    if (!is_steady_ && now - begin_ >= time_ / 2) {
      is_steady_ = true;
      steady_since_ = now;
      arrived_before_ = arrived_on(fd, total_);
    }
    if (is_over()) arrived_ = arrived_on(fd, total_);
  }
  bool has_begun() const { return total_ > 0; }
  bool is_over() const { return has_begun() && last_ - begin_ >= time_; }
  double bits_per_s() const {
    const double seconds = std::chrono::duration<double>(last_ - steady_since_).count();
    return is_steady_ && seconds > 0 ? 8 * (arrived_ - arrived_before_) / seconds : 0;
  }

 private:
  const Duration time_;
  bool is_steady_ = false;
  double total_ = 0;  // read
  double arrived_before_ = 0;
  double arrived_ = 0;
  TimePoint begin_{};
  TimePoint steady_since_{};
  TimePoint last_{};
};

class RunningFlow {
 public:
  RunningFlow(FlowOrder order, const Clock& clock)
      : order_(std::move(order)),
        clock_(clock),
        chunk_(kChunk),
        rate_(order.time),
        begin_(clock.now()),
        moved_(begin_) {
    if (order_.send_to)
      ::setsockopt(order_.send_to.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsent, sizeof kUnsent);
  }

  Result<FlowResult> run() {
    const CpuMeter meter(clock_);
    while (order_.send_to || order_.receive_from) {
      std::array<pollfd, 2> ready{pollfd{order_.send_to.get(), POLLOUT, 0},
                                  pollfd{order_.receive_from.get(), POLLIN, 0}};
      if (::poll(ready.data(), ready.size(), kLookMs) > 0) {
        if (ready[1].revents != 0) PACELINE_TRY(receive());
        if (ready[0].revents != 0) send();
      }
      if (clock_.now() - moved_ > kFlowStall)
        return Status(Code::kTimeout, Scope::kOperation, "no data was transferred for 3 s");
    }
    return FlowResult{.bits_per_s = rate_.bits_per_s(),
                      .segments = at_end_.segments - at_middle_.segments,
                      .retransmits = at_end_.retransmits - at_middle_.retransmits,
                      .window = looks_ > 0 ? windows_ / looks_ : 0,
                      .cpu = meter.read()};
  }

 private:
  static constexpr int kLookMs = 100;
  static constexpr Duration kLookPause = std::chrono::milliseconds(1);

  void send() {
    const ssize_t sent =
        ::send(order_.send_to.get(), chunk_.data(), chunk_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    const int why = errno;
    if (sent > 0) moved_ = clock_.now();
    if (const TimePoint now = clock_.now(); now - begin_ >= order_.time / 2 && now >= next_look_) {
      look();
      next_look_ = now + kLookPause;
    }
    if (sent >= 0 || why == EAGAIN || why == EINTR) return;
    look();
    order_.send_to.reset();  // the other end has enough
  }

  void look() {
    at_end_ = sent_on(order_.send_to.get());
    if (looks_ == 0) at_middle_ = at_end_;
    windows_ += at_end_.window;
    ++looks_;
  }

  Status receive() {
    const ssize_t got =
        ::recv(order_.receive_from.get(), chunk_.data(), chunk_.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Status();
    if (got <= 0)
      return Status(
          Code::kUnavailable, Scope::kOperation,
          std::string("the connection failed: ")
              .append(got == 0 ? "the peer closed the connection" : std::strerror(errno)));
    moved_ = clock_.now();
    rate_.add(static_cast<std::size_t>(got), moved_, order_.receive_from.get());
    if (rate_.is_over()) order_.receive_from.reset();
    return Status();
  }

  FlowOrder order_;
  const Clock& clock_;
  std::vector<std::byte> chunk_;
  SteadyRate rate_;
  const TimePoint begin_;
  TimePoint moved_;
  Sent at_middle_, at_end_;
  double windows_ = 0;
  double looks_ = 0;  // since the middle
  TimePoint next_look_{};
};

// One message each way; the answer says what time it is there.
Status ask(int fd, const Clock& clock, std::int64_t& answer, Deadline deadline) {
  const std::int64_t question = 0;
  PACELINE_TRY(send_all(fd, &question, sizeof question, deadline, clock));
  return receive_all(fd, &answer, sizeof answer, deadline, clock);
}

constexpr std::int64_t kNoMore = -1;

Result<PingResult> lead_pings(int fd, Duration time, const Clock& clock,
                              const WallClock& wall_clock) {
  const Deadline enough = Deadline::after(clock, time);
  const Deadline deadline = Deadline::after(clock, time + kFlowStall);
  std::vector<double> halves_us;
  PingResult result;
  std::int64_t answer = 0;
  PACELINE_TRY(ask(fd, clock, answer, deadline));  // the first one is on its own
  for (int i = 0; i < kMostPings && (i < kLeastPings || !enough.passed(clock.now())); ++i) {
    const std::int64_t wall_begin = wall_clock.since_1970().count();
    const TimePoint begin = clock.now();
    PACELINE_TRY(ask(fd, clock, answer, deadline));
    const double ns = static_cast<double>((clock.now() - begin).count());
    const double half_us = ns / 2 / kNsPerUs;
    if (halves_us.empty() || half_us < result.best_us) {
      result.best_us = half_us;
      const double ahead_ns = static_cast<double>(answer - wall_begin) - ns / 2;
      result.clock_offset_us = ahead_ns / kNsPerUs;
    }
    halves_us.push_back(half_us);
  }
  result.median_us = quantile(halves_us, 0.5);
  PACELINE_TRY(send_all(fd, &kNoMore, sizeof kNoMore, deadline, clock));
  return result;
}

Result<PingResult> answer_pings(int fd, Duration time, const Clock& clock,
                                const WallClock& wall_clock) {
  const Deadline deadline = Deadline::after(clock, time + 2 * kFlowStall);
  for (;;) {
    std::int64_t question = 0;
    PACELINE_TRY(receive_all(fd, &question, sizeof question, deadline, clock));
    if (question == kNoMore) return PingResult();
    const std::int64_t answer = wall_clock.since_1970().count();
    PACELINE_TRY(send_all(fd, &answer, sizeof answer, deadline, clock));
  }
}

}  // namespace

Result<FlowResult> run_flow(FlowOrder order, const Clock& clock) {
  return RunningFlow(std::move(order), clock).run();
}

Result<PingResult> run_pings(int fd, bool leads, Duration time, const Clock& clock,
                             const WallClock& wall_clock) {
  return leads ? lead_pings(fd, time, clock, wall_clock)
               : answer_pings(fd, time, clock, wall_clock);
}

}  // namespace paceline::probe
