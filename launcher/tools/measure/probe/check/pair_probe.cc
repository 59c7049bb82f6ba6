#include "launcher/tools/measure/probe/check/pair_probe.h"

#include <chrono>
#include <utility>

#include "comm/base/try.h"
#include "launcher/connectivity/measurements.h"
#include "launcher/tools/measure/probe/check/flow.h"

namespace paceline::probe {
namespace {

// From one phase to the next the two ends are hardly apart.
constexpr Duration kMeeting = std::chrono::seconds(5);

class PairProbe {
 public:
  PairProbe(const PairSite& site, int round, const Pair& pair)
      : site_(site), round_(round), pair_(pair) {}

  std::vector<std::string> run() {
    const auto [a, b] = pair_;
    // What goes on beside the check may depend on how long a round has lasted: so that it does not
    // strike the flows to low ranks alone, each second round begins with these.
    const auto [from, to] = round_ % 2 == 0 ? Pair(a, b) : Pair(b, a);
    const bool all_came =
        note(a, b, ping()) && note(from, to, flow(from, to)) && note(to, from, flow(to, from));
    if (all_came && site_.orders.both_ways) note(a, b, flow_both_ways());
    return std::move(lines_);
  }

 private:
  int rank() const { return site_.rank; }
  int other() const { return rank() == pair_.first ? pair_.second : pair_.first; }

  bool note(int from, int to, const Status& status) {
    if (!status.ok())
      lines_.push_back(to_line(Broken{.round = round_,
                                      .from = from,
                                      .to = to,
                                      .is_silence = status.code() == Code::kTimeout,
                                      .why = status.text()}));
    return status.ok();
  }

  // The connection on which `from` speaks first.
  Result<UniqueFd> meet(int from, LinkUse use) {
    const LinkPurpose purpose{
        .round = static_cast<std::uint32_t>(round_), .from = from, .use = use};
    const Deadline deadline = Deadline::after(site_.clock, kMeeting);
    if (from != rank()) return site_.door.accept(site_.key, purpose, deadline);
    const std::string& address = site_.addresses[static_cast<std::size_t>(other())];
    return dial(address, site_.key, purpose, deadline, site_.clock);
  }

  Status ping() {
    const auto [a, b] = pair_;
    PACELINE_TRY_ASSIGN(const UniqueFd fd, meet(a, LinkUse::kLatency));
    const auto time = std::chrono::milliseconds(site_.orders.ping_ms);
    PACELINE_TRY_ASSIGN(const PingResult found,
                        run_pings(fd.get(), rank() == a, time, site_.clock, site_.wall_clock));
    if (rank() == a)
      lines_.push_back(to_line(Latency{.round = round_,
                                       .from = a,
                                       .to = b,
                                       .best_us = found.best_us,
                                       .median_us = found.median_us,
                                       .clock_offset_us = found.clock_offset_us}));
    return Status();
  }

  Status flow(int from, int to) {
    PACELINE_TRY_ASSIGN(UniqueFd fd, meet(from, LinkUse::kFlow));
    FlowOrder order{.time = time()};
    (rank() == from ? order.send_to : order.receive_from) = std::move(fd);
    PACELINE_TRY_ASSIGN(const FlowResult found, run_flow(std::move(order), site_.clock));
    Flow flow = half(from, to, found);
    lines_.push_back(rank() == from ? sender_line(flow) : receiver_line(flow));
    return Status();
  }

  Status flow_both_ways() {
    const auto [a, b] = pair_;
    // The lower one connects first, so that neither waits for the other.
    FlowOrder order{.time = time()};
    for (const int from : {a, b}) {
      PACELINE_TRY_ASSIGN(UniqueFd fd, meet(from, LinkUse::kFlowBothWays));
      (rank() == from ? order.send_to : order.receive_from) = std::move(fd);
    }
    PACELINE_TRY_ASSIGN(const FlowResult found, run_flow(std::move(order), site_.clock));
    Flow sent = half(rank(), other(), found);
    Flow received = half(other(), rank(), found);
    sent.both_ways = received.both_ways = true;
    lines_.push_back(sender_line(sent));
    lines_.push_back(receiver_line(received));
    return Status();
  }

  Duration time() const { return std::chrono::milliseconds(site_.orders.flow_ms); }

  Flow half(int from, int to, const FlowResult& found) const {
    return {.round = round_,
            .from = from,
            .to = to,
            .bits_per_s = found.bits_per_s,
            .segments = found.segments,
            .retransmits = found.retransmits,
            .window = found.window,
            .sender = found.cpu,
            .receiver = found.cpu};
  }

  const PairSite& site_;
  const int round_;
  const Pair pair_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> measure_pair(const PairSite& site, int round, const Pair& pair) {
  return PairProbe(site, round, pair).run();
}

}  // namespace paceline::probe
