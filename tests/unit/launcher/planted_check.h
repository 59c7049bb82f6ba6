// Measurements of a check that nobody has made: hosts and links as they are asked for, or as they
// were recorded, with what is wrong with them and with noise, measured in the rounds in which the
// ranks would.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "comm/base/random.h"
#include "launcher/connectivity/measurements.h"
#include "launcher/tools/measure/probe/check/schedule.h"

namespace paceline::launcher {

struct PlantedCheck {
  int hosts = 8;
  double rate = 100e6;    ///< of every link
  double noise = 0.015;   ///< standard deviation of a flow, as a share of it
  double hiccups = 0.02;  ///< how many flows are far slower than their link for once
  int egress = -1;        ///< whose egress is slow
  int ingress = -1;
  std::optional<probe::Pair> pair;  ///< which pair is slow, both ways
  int cpu = -1;                     ///< who has so little of a CPU that its flows are slow
  double level = 1;                 ///< what is left of a rate, where it is slow
  double rated_mbit = 0;            ///< by real devices; 0: no device states a rate
  int again = 4;
};

class PlantedWorld {
 public:
  /// Of `recorded` healthy measurements, if there are some, links have the rates and threads their
  /// CPUs; it is borrowed, and has as many hosts.
  PlantedWorld(const PlantedCheck& planted, std::uint64_t seed,
               const probe::Measurements* recorded = nullptr)
      : planted_(planted), random_(seed), recorded_(recorded) {}

  probe::Measurements measure() {
    for (int host = 0; host < planted_.hosts; ++host) add_host(host);
    measure_rounds(probe::first_rounds(planted_.hosts));
    for (int i = 0; i < planted_.again; ++i)
      measure_rounds(probe::rounds_again(measured_, probe::doublings(planted_.hosts)));
    return std::move(measured_);
  }

 private:
  // Of a normal distribution, near enough: twelve dice.
  double deviation() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random_.unit();
    return sum;
  }

  void add_host(int host) {
    measured_.hosts.push_back("n" + std::to_string(host));
    probe::HostFacts facts;
    facts.rate_mbit = static_cast<std::int64_t>(planted_.rated_mbit);
    facts.driver = planted_.rated_mbit > 0 ? "mlx5_core" : "";
    measured_.facts.push_back(facts);
    const bool is_held = host == planted_.cpu;
    const double usual = recorded_ != nullptr
                             ? recorded_->spins[static_cast<std::size_t>(host)].cpu.busy
                             : 1 - 0.1 * random_.unit();
    const double busy = is_held ? planted_.level : usual;
    measured_.spins.push_back({.host = host,
                               .cpu = {.busy = busy,
                                       .waiting = 1 - busy,
                                       .throttled = is_held ? 0.7 + 0.3 * random_.unit() : 0}});
  }

  void measure_rounds(const std::vector<probe::Round>& rounds) {
    for (const probe::Round& round : rounds) {
      for (const auto& [a, b] : round) {
        add_flow(a, b);
        add_flow(b, a);
      }
      ++round_;
    }
  }

  void add_flow(int from, int to) {
    const bool is_pair = planted_.pair && *planted_.pair == probe::Pair(std::minmax(from, to));
    const bool waits = from == planted_.cpu || to == planted_.cpu;
    const bool is_slow = from == planted_.egress || to == planted_.ingress || is_pair || waits;
    probe::Flow flow = healthy(from, to);
    double& rate = flow.bits_per_s;
    if (is_slow) rate *= planted_.level;
    rate *= 1 + planted_.noise * deviation();
    if (random_.chance(planted_.hiccups)) rate *= 0.3 + 0.6 * random_.unit();
    if (from == planted_.cpu) flow.sender = held();
    if (to == planted_.cpu) flow.receiver = held();
    measured_.flows.push_back(flow);
  }

  probe::Flow healthy(int from, int to) {
    probe::Flow flow{.from = from, .to = to, .bits_per_s = planted_.rate};
    flow.sender = {.busy = 0.05 + 0.2 * random_.unit(), .waiting = 0.3 * random_.unit()};
    flow.receiver = {.busy = 0.05 + 0.2 * random_.unit(), .waiting = 0.3 * random_.unit()};
    if (recorded_ != nullptr)
      flow =
          *std::find_if(recorded_->flows.begin(), recorded_->flows.end(),
                        [&](const probe::Flow& one) { return one.from == from && one.to == to; });
    flow.round = round_;
    return flow;
  }

  probe::CpuUse held() {
    const double busy = 0.05 + 0.2 * random_.unit();
    return {.busy = busy, .waiting = 1 - busy, .throttled = 0.8};
  }

  const PlantedCheck planted_;
  Random random_;
  const probe::Measurements* const recorded_;
  probe::Measurements measured_;
  int round_ = 0;
};

}  // namespace paceline::launcher
