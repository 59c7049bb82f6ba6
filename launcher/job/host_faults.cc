#include "launcher/job/host_faults.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "comm/base/text.h"

namespace paceline::launcher {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

Status garbled(const std::string& why) {
  return Status(Code::kInvalidArgument, Scope::kOperation,
                "not a document of `paceline run --host-faults`: " + printable(why));
}

}  // namespace

void HostFaults::add(HostFault fault) {
  const bool is_known = std::ranges::any_of(
      faults_, [&fault](const HostFault& one) { return one.host == fault.host; });
  if (!is_known) faults_.push_back(std::move(fault));
}

std::string host_faults_json(const std::vector<HostFault>& faults) {
  json hosts = json::array();
  for (const HostFault& one : faults)
    hosts.push_back({{"name", one.host}, {"why", one.why}, {"or", one.or_host}});
  const json document = {{"paceline_host_faults", kVersion}, {"hosts", hosts}};
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<std::vector<HostFault>> parse_host_faults(const std::string& text) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || document.value("paceline_host_faults", json()) != json(kVersion))
    return garbled("it has no \"paceline_host_faults\": 1");
  try {
    std::vector<HostFault> faults;
    for (const json& one : document.at("hosts"))
      faults.push_back({.host = one.at("name"), .why = one.at("why"), .or_host = one.at("or")});
    return faults;
  } catch (const json::exception& error) {
    return garbled(error.what());
  }
}

}  // namespace paceline::launcher
