#include "launcher/connectivity/check_record.h"

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/options/option_values.h"

namespace paceline::launcher {
namespace {

using nlohmann::json;
using probe::Measurements;

constexpr std::size_t kMaxHosts = 65536;

json to_json(const probe::CpuUse& use) {
  return {{"busy", use.busy}, {"waiting", use.waiting}, {"throttled", use.throttled}};
}

probe::CpuUse cpu_from(const json& text) {
  return {.busy = text.value("busy", 0.0),
          .waiting = text.value("waiting", 0.0),
          .throttled = text.value("throttled", 0.0)};
}

json hosts_json(const Measurements& measured) {
  json hosts = json::array();
  for (std::size_t i = 0; i < measured.hosts.size(); ++i) {
    json facts = json::object();
    if (i < measured.facts.size())
      for (const auto& [name, value] : probe::to_pairs(measured.facts[i])) facts[name] = value;
    hosts.push_back({{"name", measured.hosts[i]}, {"facts", facts}});
  }
  return hosts;
}

}  // namespace

json measured_json(const Measurements& measured) {
  json all = {
      {"hosts", hosts_json(measured)}, {"cpus", json::array()},   {"latencies", json::array()},
      {"flows", json::array()},        {"broken", json::array()}, {"stalls", json::array()},
      {"all_reduce", json::array()},   {"unfit", json::array()},  {"notes", measured.notes}};
  for (const probe::Spin& spin : measured.spins)
    all["cpus"].push_back({{"host", spin.host},
                           {"use", to_json(spin.cpu)},
                           {"copied_bytes_per_s", spin.copied_bytes_per_s}});
  for (const probe::Latency& one : measured.latencies)
    all["latencies"].push_back({{"round", one.round},
                                {"from", one.from},
                                {"to", one.to},
                                {"best_us", one.best_us},
                                {"median_us", one.median_us},
                                {"clock_offset_us", one.clock_offset_us}});
  for (const probe::Flow& flow : measured.flows)
    all["flows"].push_back({{"round", flow.round},
                            {"from", flow.from},
                            {"to", flow.to},
                            {"both_directions", flow.both_ways},
                            {"bits_per_s", flow.bits_per_s},
                            {"segments", flow.segments},
                            {"retransmits", flow.retransmits},
                            {"window", flow.window},
                            {"sender", to_json(flow.sender)},
                            {"receiver", to_json(flow.receiver)}});
  for (const probe::Broken& one : measured.broken)
    all["broken"].push_back({{"round", one.round},
                             {"from", one.from},
                             {"to", one.to},
                             {"silence", one.is_silence},
                             {"why", one.why}});
  for (const probe::Stall& one : measured.stalls)
    all["stalls"].push_back({{"host", one.host}, {"seconds", one.seconds}});
  for (const probe::UnfitHost& one : measured.unfit)
    all["unfit"].push_back({{"name", one.name}, {"why", one.why}, {"or", one.or_host}});
  for (const probe::Reduction& one : measured.reductions)
    all["all_reduce"].push_back({{"hosts", one.hosts},
                                 {"bytes", one.bytes},
                                 {"time_us", one.time_us},
                                 {"wrong", one.wrong},
                                 {"wire_bits_per_s", one.wire_bits_per_s},
                                 {"max_us", one.max_us}});
  return all;
}

namespace {

void take_hosts(const json& hosts, Measurements& into) {
  for (const json& host : hosts) {
    into.hosts.push_back(host.at("name").get<std::string>());
    std::string words;
    for (const auto& [name, value] : host.at("facts").items())
      words.append(name).append("=").append(value.get<std::string>()).append(" ");
    into.facts.push_back(probe::parse_host_facts(words));
  }
}

void take_flows(const json& flows, Measurements& into) {
  for (const json& one : flows)
    into.flows.push_back({.round = one.at("round"),
                          .from = one.at("from"),
                          .to = one.at("to"),
                          .both_ways = one.value("both_directions", false),
                          .bits_per_s = one.at("bits_per_s"),
                          .segments = one.value("segments", 0.0),
                          .retransmits = one.value("retransmits", 0.0),
                          .window = one.value("window", 0.0),
                          .sender = cpu_from(one.at("sender")),
                          .receiver = cpu_from(one.at("receiver"))});
}

Measurements measurements_from(const json& all) {
  Measurements into;
  take_hosts(all.at("hosts"), into);
  for (const json& one : all.at("cpus"))
    into.spins.push_back({.host = one.at("host"),
                          .cpu = cpu_from(one.at("use")),
                          .copied_bytes_per_s = one.value("copied_bytes_per_s", 0.0)});
  for (const json& one : all.at("latencies"))
    into.latencies.push_back({.round = one.at("round"),
                              .from = one.at("from"),
                              .to = one.at("to"),
                              .best_us = one.at("best_us"),
                              .median_us = one.at("median_us"),
                              .clock_offset_us = one.at("clock_offset_us")});
  take_flows(all.at("flows"), into);
  for (const json& one : all.at("broken"))
    into.broken.push_back({.round = one.at("round"),
                           .from = one.at("from"),
                           .to = one.at("to"),
                           .is_silence = one.value("silence", false),
                           .why = one.at("why")});
  for (const json& one : all.value("stalls", json::array()))
    into.stalls.push_back({.host = one.at("host"), .seconds = one.at("seconds")});
  for (const json& one : all.at("all_reduce"))
    into.reductions.push_back({.hosts = one.at("hosts"),
                               .bytes = one.at("bytes"),
                               .time_us = one.at("time_us"),
                               .wrong = one.at("wrong"),
                               .wire_bits_per_s = one.at("wire_bits_per_s"),
                               .max_us = one.value("max_us", 0.0)});
  for (const json& one : all.value("unfit", json::array()))
    into.unfit.push_back(
        {.name = one.at("name"), .why = one.at("why"), .or_host = one.value("or", "")});
  for (const json& note : all.at("notes")) into.notes.push_back(note.get<std::string>());
  return into;
}

// Everything that names two hosts names two that are there.
template <class T>
bool are_hosts(const std::vector<T>& pairs, int hosts) {
  for (const T& one : pairs)
    if (one.from < 0 || one.from >= hosts || one.to < 0 || one.to >= hosts || one.from == one.to)
      return false;
  return true;
}

Status check_hosts(const Measurements& measured) {
  if ((measured.hosts.empty() && measured.unfit.empty()) || measured.hosts.size() > kMaxHosts)
    return usage_error("the document has no hosts");
  const auto hosts = static_cast<int>(measured.hosts.size());
  bool known = are_hosts(measured.latencies, hosts) && are_hosts(measured.flows, hosts) &&
               are_hosts(measured.broken, hosts);
  for (const probe::Spin& spin : measured.spins)
    known = known && spin.host >= 0 && spin.host < hosts;
  for (const probe::Stall& stall : measured.stalls)
    known = known && stall.host >= 0 && stall.host < hosts;
  return known ? Status()
               : usage_error("the document has measurements of hosts that it does not list");
}

}  // namespace

Result<Measurements> parse_check_json(const std::string& text) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object()) return usage_error("not a JSON document");
  if (document.value("paceline_check", json()) != json(kCheckVersion))
    return usage_error("not a document of `paceline check --json` of this version");
  try {
    Measurements measured = measurements_from(document.at("measurements"));
    PACELINE_TRY(check_hosts(measured));
    return measured;
  } catch (const json::exception& error) {
    return usage_error(printable(error.what()));
  }
}

}  // namespace paceline::launcher
