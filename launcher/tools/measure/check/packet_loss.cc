#include "launcher/tools/measure/check/packet_loss.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

#include "launcher/tools/measure/text_format.h"

namespace paceline::launcher {
namespace {

using probe::Flow;
using probe::Measurements;

// Min number of segments of a direction, so that its share of lost packets means something.
constexpr double kEnoughSegments = 200;
// Min number of retransmits of a direction that can be lossy.
constexpr double kEnoughRetransmits = 5;
// Min share of lost packets of a lossy direction. A healthy queue loses less.
constexpr double kLeastLoss = 0.003;
// A lossy direction loses this many times the share that the best quarter of all directions loses.
constexpr double kTimesTheBest = 4;
// If the best quarter loses this share, every direction that loses this share is lossy.
constexpr double kLossOfAll = 0.02;
// A path that loses packets at random, the share p of them, keeps the window of Reno and CUBIC near
// sqrt(1.5 / p) (Mathis et al. 1997; RFC 9438, section 4.3), so p * window^2 is near 1.5. Measured
// in labs of 100 Mbit/s and 1 Gbit/s: 0.9 to 2.7 where packets are dropped at random, 35 and more
// where the queue of a slow link was full. A full queue is not a fault of its own.
constexpr double kMostOfRandomLoss = 10;

struct Counted {
  double segments = 0;
  double retransmits = 0;
  double windows = 0;  // sum over segments

  double share() const { return segments > 0 ? retransmits / segments : 0; }
  bool is_enough() const { return segments >= kEnoughSegments; }
  bool is_random() const {
    const double window = windows / segments;
    return retransmits >= kEnoughRetransmits && share() * window * window <= kMostOfRandomLoss;
  }
};

using Shares = std::map<Direction, double>;

Shares shares_of(const Measurements& measured) {
  std::map<Direction, Counted> counted;
  for (const Flow& flow : measured.flows) {
    Counted& one = counted[{flow.from, flow.to}];
    one.segments += flow.segments;
    one.retransmits += flow.retransmits;
    one.windows += flow.segments * flow.window;
  }
  Shares shares;
  for (const auto& [direction, one] : counted)
    if (one.is_enough()) shares[direction] = one.is_random() ? one.share() : 0;
  return shares;
}

double best_quarter(const Shares& shares) {
  std::vector<double> sorted;
  sorted.reserve(shares.size());
  for (const auto& [direction, share] : shares) sorted.push_back(share);
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 4];
}

Shares lossy_ones(const Shares& shares) {
  if (shares.empty()) return {};
  const double usual = best_quarter(shares);
  const double least =
      usual >= kLossOfAll ? kLossOfAll : std::max(kLeastLoss, kTimesTheBest * usual);
  Shares lossy;
  for (const auto& [direction, share] : shares)
    if (share >= least) lossy.emplace(direction, share);
  return lossy;
}

class LossByHost {
 public:
  explicit LossByHost(const Shares& shares) : shares_(shares), left_(lossy_ones(shares)) {}

  PacketLoss run(int hosts) {
    for (const auto& [direction, share] : left_) found_.explained.push_back(direction);
    while (blame_worst_host(hosts)) {
    }
    for (const auto& [direction, share] : left_)
      found_.blames.push_back(
          {.fault = Fault::kPacketLoss,
           .host = direction.first,
           .other = direction.second,
           .both = false,
           .evidence = text("%.1f %% of its packets are sent again", 100 * share)});
    return std::move(found_);
  }

 private:
  struct Side {
    std::size_t lossy = 0;
    std::size_t measured = 0;

    bool is_bad() const {
      return lossy > 1 && static_cast<double>(lossy) >= kMostOfThem * static_cast<double>(measured);
    }
  };

  static bool is_of(const Direction& direction, int host, bool leaving) {
    return host == (leaving ? direction.first : direction.second);
  }

  Side side_of(int host, bool leaving) const {
    Side side;
    for (const auto& [direction, share] : shares_)
      if (is_of(direction, host, leaving)) ++side.measured;
    for (const auto& [direction, share] : left_)
      if (is_of(direction, host, leaving)) ++side.lossy;
    return side;
  }

  bool blame_worst_host(int hosts) {
    std::size_t most = 0;
    int worst = -1;
    for (int host = 0; host < hosts; ++host) {
      const Side out = side_of(host, true), in = side_of(host, false);
      if (!(out.is_bad() || in.is_bad()) || out.lossy + in.lossy <= most) continue;
      most = out.lossy + in.lossy;
      worst = host;
    }
    if (worst < 0) return false;
    found_.blames.push_back(
        {.fault = Fault::kPacketLoss, .host = worst, .evidence = evidence_of(worst)});
    explain_all_of(worst, hosts);
    std::erase_if(left_, [worst](const auto& one) {
      return is_of(one.first, worst, true) || is_of(one.first, worst, false);
    });
    return true;
  }

  // Loss can leave too few segments to see it in each direction.
  void explain_all_of(int host, int hosts) {
    for (const bool leaving : {true, false}) {
      if (!side_of(host, leaving).is_bad()) continue;
      for (int other = 0; other < hosts; ++other) {
        const Direction direction = leaving ? Direction(host, other) : Direction(other, host);
        if (!shares_.contains(direction)) found_.explained.push_back(direction);
      }
    }
  }

  std::string evidence_of(int host) const {
    std::string evidence;
    for (const bool leaving : {true, false}) {
      const Side side = side_of(host, leaving);
      if (!side.is_bad()) continue;
      double sum = 0;
      for (const auto& [direction, share] : left_)
        if (is_of(direction, host, leaving)) sum += share;
      evidence.append(evidence.empty() ? "" : ", ")
          .append(text("%.1f %% of packets %s %zu of %zu hosts",
                       100 * sum / static_cast<double>(side.lossy), leaving ? "to" : "from",
                       side.lossy, side.measured));
    }
    return evidence.append(" are sent again");
  }

  const Shares& shares_;
  Shares left_;  // lossy directions that no host explains yet
  PacketLoss found_;
};

}  // namespace

PacketLoss blame_packet_loss(const Measurements& measured) {
  const Shares shares = shares_of(measured);
  return LossByHost(shares).run(static_cast<int>(measured.hosts.size()));
}

}  // namespace paceline::launcher
