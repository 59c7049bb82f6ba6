#include "launcher/connectivity/measurements.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <type_traits>

#include "comm/base/cgroup.h"
#include "comm/base/text.h"

namespace paceline::probe {
namespace {

constexpr std::size_t kLongestText = 400;

std::string word_of(double value) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.9g", value);
  return digits.data();
}

template <class... Values>
std::string line_of(std::string_view kind, const Values&... values) {
  std::string line(kind);
  const auto add = [&line](const auto& value) {
    line += ' ';
    if constexpr (std::is_floating_point_v<std::decay_t<decltype(value)>>) {
      line += word_of(value);
    } else {
      line += std::to_string(value);
    }
  };
  (add(values), ...);
  return line;
}

template <class T>
bool read(std::string_view word, T& into) {
  const auto value = parse_number<T>(word);
  if (value) into = *value;
  return value.has_value();
}

/// All of `words`, and nothing else.
template <class... Values>
bool read_all(const std::vector<std::string_view>& words, Values&... values) {
  if (words.size() != sizeof...(values)) return false;
  std::size_t at = 0;
  return (read(words[at++], values) && ...);
}

// One line, whatever somebody else's error text has in it.
std::string shown(std::string_view text) { return printable(text.substr(0, kLongestText)); }

// The text behind the first `words` words.
std::string_view rest_behind(std::string_view line, std::size_t words) {
  for (; words > 0; --words) line.remove_prefix(std::min(line.find(' ') + 1, line.size()));
  return line;
}

bool are_hosts(const Measurements& known, int from, int to) {
  const auto count = static_cast<int>(known.hosts.size());
  return from >= 0 && from < count && to >= 0 && to < count && from != to;
}

Flow& flow_in(Measurements& into, const Flow& half) {
  const auto is_it = [&half](const Flow& flow) {
    return flow.round == half.round && flow.from == half.from && flow.to == half.to &&
           flow.both_ways == half.both_ways;
  };
  const auto found = std::find_if(into.flows.rbegin(), into.flows.rend(), is_it);
  return found != into.flows.rend() ? *found : into.flows.emplace_back(half);
}

bool take_half(const std::vector<std::string_view>& words, bool is_sender, Measurements& into) {
  Flow half;
  int both = 0;
  double number = 0;
  CpuUse cpu;
  if (!read_all(words, half.round, half.from, half.to, both, number, half.segments, half.window,
                cpu.busy, cpu.waiting, cpu.throttled) ||
      !are_hosts(into, half.from, half.to))
    return false;
  half.both_ways = both != 0;
  Flow& flow = flow_in(into, half);
  (is_sender ? flow.retransmits : flow.bits_per_s) = number;
  if (is_sender) flow.segments = half.segments;
  if (is_sender) flow.window = half.window;
  (is_sender ? flow.sender : flow.receiver) = cpu;
  return true;
}

bool take_facts(std::string_view line, Measurements& into) {
  const auto host = parse_number<int>(line.substr(0, line.find(' ')));
  if (!host || *host < 0 || *host >= static_cast<int>(into.hosts.size())) return false;
  into.facts.resize(into.hosts.size());
  into.facts[static_cast<std::size_t>(*host)] = parse_host_facts(rest_behind(line, 1));
  return true;
}

bool take_spin(const std::vector<std::string_view>& words, Measurements& into) {
  Spin spin;
  if (!read_all(words, spin.host, spin.cpu.busy, spin.cpu.waiting, spin.cpu.throttled,
                spin.copied_bytes_per_s) ||
      spin.host < 0 || spin.host >= static_cast<int>(into.hosts.size()))
    return false;
  into.spins.push_back(spin);
  return true;
}

bool take_latency(const std::vector<std::string_view>& words, Measurements& into) {
  Latency latency;
  if (!read_all(words, latency.round, latency.from, latency.to, latency.best_us, latency.median_us,
                latency.clock_offset_us) ||
      !are_hosts(into, latency.from, latency.to))
    return false;
  into.latencies.push_back(latency);
  return true;
}

bool take_broken(std::string_view line, std::vector<std::string_view> words, Measurements& into) {
  Broken broken{.why = std::string(rest_behind(line, 4))};
  words.resize(std::min<std::size_t>(words.size(), 4));
  int is_silence = 0;
  if (!read_all(words, broken.round, broken.from, broken.to, is_silence) ||
      !are_hosts(into, broken.from, broken.to))
    return false;
  broken.is_silence = is_silence != 0;
  into.broken.push_back(std::move(broken));
  return true;
}

bool take_stall(const std::vector<std::string_view>& words, Measurements& into) {
  Stall stall;
  if (!read_all(words, stall.host, stall.seconds) || stall.host < 0 ||
      stall.host >= static_cast<int>(into.hosts.size()))
    return false;
  into.stalls.push_back(stall);
  return true;
}

bool take_reduction(const std::vector<std::string_view>& words, Measurements& into) {
  Reduction reduction;
  if (!read_all(words, reduction.hosts, reduction.bytes, reduction.time_us, reduction.wrong,
                reduction.wire_bits_per_s, reduction.max_us))
    return false;
  into.reductions.push_back(reduction);
  return true;
}

}  // namespace

std::string to_line(int host, const HostFacts& facts) {
  return line_of("host", host) + " " + to_text(facts);
}

std::string to_line(const Spin& spin) {
  return line_of("spin", spin.host, spin.cpu.busy, spin.cpu.waiting, spin.cpu.throttled,
                 spin.copied_bytes_per_s);
}

std::string to_line(const Latency& latency) {
  return line_of("latency", latency.round, latency.from, latency.to, latency.best_us,
                 latency.median_us, latency.clock_offset_us);
}

std::string to_line(const Broken& broken) {
  return line_of("broken", broken.round, broken.from, broken.to, broken.is_silence ? 1 : 0) + " " +
         shown(broken.why);
}

std::string to_line(const Stall& stall) { return line_of("stall", stall.host, stall.seconds); }

std::string to_line(const Reduction& reduction) {
  return line_of("reduction", reduction.hosts, reduction.bytes, reduction.time_us, reduction.wrong,
                 reduction.wire_bits_per_s, reduction.max_us);
}

std::string sender_line(const Flow& flow) {
  return line_of("sender", flow.round, flow.from, flow.to, flow.both_ways ? 1 : 0, flow.retransmits,
                 flow.segments, flow.window, flow.sender.busy, flow.sender.waiting,
                 flow.sender.throttled);
}

std::string receiver_line(const Flow& flow) {
  return line_of("receiver", flow.round, flow.from, flow.to, flow.both_ways ? 1 : 0,
                 flow.bits_per_s, 0.0, 0.0, flow.receiver.busy, flow.receiver.waiting,
                 flow.receiver.throttled);
}

std::string note_line(std::string_view text) { return std::string("note ").append(shown(text)); }

std::string progress_line(int done, int all, std::string_view what) {
  return line_of("progress", done, all) + " " + std::string(what);
}

bool take_line(std::string_view line, Measurements& into) {
  const std::string_view kind = line.substr(0, line.find(' '));
  const std::string_view rest = rest_behind(line, 1);
  const std::vector<std::string_view> words = split_words(rest, ' ');
  if (kind == "progress") return true;
  if (kind == "host") return take_facts(rest, into);
  if (kind == "spin") return take_spin(words, into);
  if (kind == "latency") return take_latency(words, into);
  if (kind == "sender" || kind == "receiver") return take_half(words, kind == "sender", into);
  if (kind == "broken") return take_broken(rest, words, into);
  if (kind == "stall") return take_stall(words, into);
  if (kind == "reduction") return take_reduction(words, into);
  if (kind == "note") into.notes.emplace_back(rest);
  return kind == "note";
}

}  // namespace paceline::probe
