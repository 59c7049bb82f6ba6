#include "launcher/tools/measure/check/check_json.h"

#include <nlohmann/json.hpp>

#include "launcher/connectivity/check_record.h"

namespace paceline::launcher {
namespace {

using nlohmann::json;
using probe::Measurements;

json host_of(const Blame& blame, const Measurements& measured) {
  if (blame.fault == Fault::kUnfit) return blame.name;
  return blame.host < 0 ? json() : json(measured.hosts[static_cast<std::size_t>(blame.host)]);
}

json verdict_json(const Measurements& measured, const Verdict& verdict) {
  json blames = json::array();
  for (const Blame& blame : verdict.blames)
    blames.push_back(
        {{"fault", name(blame.fault)},
         {"subject", subject_of(blame, measured.hosts)},
         {"host", host_of(blame, measured)},
         {"other",
          blame.other < 0 ? json() : json(measured.hosts[static_cast<std::size_t>(blame.other)])},
         {"both_directions", blame.both},
         {"found_bits_per_s", blame.found_bits_per_s},
         {"evidence", blame.evidence}});
  return {{"state", name(verdict.state)},
          {"blames", blames},
          {"reasons", verdict.reasons},
          {"expected_bits_per_s", verdict.expected_bits_per_s},
          {"spread", verdict.spread}};
}

json findings_json(const std::vector<Finding>& findings) {
  json all = json::array();
  for (const Finding& one : findings)
    all.push_back({{"host", one.host},
                   {"what", one.what},
                   {"found", one.found},
                   {"expected", one.expected},
                   {"fine", one.fine},
                   {"why", one.why},
                   {"advice", one.advice}});
  return all;
}

}  // namespace

std::string check_json(const Measurements& measured, const std::vector<Finding>& findings,
                       const Verdict& verdict) {
  const json document = {{"paceline_check", kCheckVersion},
                         {"verdict", verdict_json(measured, verdict)},
                         {"findings", findings_json(findings)},
                         {"measurements", measured_json(measured)}};
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace paceline::launcher
