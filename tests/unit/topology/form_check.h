// Writes a machine in a form, reads it again, and judges what has become of each fact.
//
// A fact comes back as it was. A fact that does not is one that the form cannot hold, and the
// function that lists these names it: no more and no fewer. Nothing comes back that was not there,
// except what the list names and follows from other facts.
#pragma once

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/topology/machine_facts.h"
#include "topology/model/nic_name.h"
#include "topology/read/read_host.h"
#include "topology/render/render.h"

namespace paceline::topology {

struct Form {
  std::string_view name;
  std::string (*write)(const HostModel&);
  LeftOut (*left_out)(const HostModel&);
};

inline constexpr std::array<Form, 3> kForms = {
    {{"json", model_json_text, [](const HostModel&) { return LeftOut(); }},
     {"nccl-xml", nccl_xml_text, left_out_of_nccl_xml},
     {"hwloc-xml", hwloc_xml_text, left_out_of_hwloc_xml}}};

/// One machine in one form.
class FormCheck {
 public:
  FormCheck(const HostModel& host, const Form& form)
      : host_(host), form_(form), before_(facts_of(host)) {
    for (std::string& field : form.left_out(host).fields) left_out_.insert(std::move(field));
  }

  /// What is wrong, a line each. Empty: nothing.
  std::vector<std::string> faults() {
    const std::string text = form_.write(host_);
    const auto read = read_host_text({std::string(form_.name), text});
    if (!read.ok() && holds_nothing()) return {};
    if (!read.ok()) return {"is refused: " + read.status().text()};
    after_ = facts_of(*read);
    for (const auto& [key, value] : before_) check_kept(key, value);
    for (const auto& [key, value] : after_) check_new(key, value);
    for (const std::string& field : left_out_)
      if (!lost_.contains(field)) say(field, "is listed as left out, and is there");
    check_warnings(*read);
    check_again(*read);
    return std::move(faults_);
  }

  std::size_t facts() const { return before_.size(); }

 private:
  // Readers refuse a file in which there is neither a CPU nor a device.
  bool holds_nothing() const {
    const bool has_memory = std::ranges::any_of(host_.numa_nodes, [&](const NumaNode& node) {
      return node.kind == MemoryKind::kOrdinary || !left_out_.contains("numa_nodes");
    });
    const bool has_nics = !host_.nics.empty() && !left_out_.contains("nics");
    return host_.gpus.empty() && host_.cpus.is_empty() && !has_memory && !has_nics;
  }

  void say(const std::string& where, const std::string& what) {
    constexpr std::size_t kMost = 8;
    if (faults_.size() < kMost) faults_.push_back(where + " " + what);
  }
  static std::string text_of(const FactKey& key) { return key.field + " of \"" + key.owner + "\""; }

  // "nics" stands for all fields of NICs that are left out as a whole, and "bridges" for bridges
  // above devices that had none.
  bool is_left_out(const FactKey& key) {
    const std::string& field = key.field;
    const std::string list = field.substr(0, field.find('.'));
    const std::size_t last = std::min(field.rfind('.'), field.size());
    bool is_named = false;
    for (const std::string& named : {field, field.substr(0, last), list}) {
      if (!left_out_.contains(named)) continue;
      if (named == "nics" && after_.contains({named, key.owner})) continue;
      if (named == "bridges" && field != named && before_.contains(key)) continue;
      lost_.insert(named);
      is_named = true;
    }
    return is_named;
  }

  // Paths and the bridges above a device follow from what else is left out.
  bool is_named(const FactKey& key) {
    if (is_left_out(key)) return true;
    if (key.field == "paths") {
      return left_out_.contains("links") || left_out_.contains("stated") ||
             left_out_.contains("bridges") || left_out_.contains("nics") ||
             left_out_.contains("gpus.pci") || left_out_.contains("gpus.near") ||
             left_out_.contains("nics.near");
    }
    if (key.field == "stated") return left_out_.contains("nics");
    if (key.field.starts_with("bridges")) return left_out_.contains("nics");
    return false;
  }

  void check_kept(const FactKey& key, const std::string& value) {
    const auto found = after_.find(key);
    if (found != after_.end() && found->second == value) return;
    if (is_named(key)) return;
    say(text_of(key), found == after_.end()
                          ? "was " + value + " and is lost, and the list does not name it"
                          : "was " + value + " and is " + found->second);
  }

  void check_new(const FactKey& key, const std::string& value) {
    if (before_.contains(key)) return;
    const bool is_listed = is_named(key);
    // Links and bridges that stated paths imply.
    const bool is_implied = left_out_.contains("stated") &&
                            (key.field.starts_with("links") || key.field.starts_with("bridges"));
    if (is_implied) return;
    static const std::set<std::string> kFollowing = {
        "links.count", "processor", "nics.kind", "nics.interfaces", "bridges.kind", "bridges.near",
        "gpus.near",   "nics.near", "paths",     "caches",          "cores"};
    if (is_listed && kFollowing.contains(key.field)) return;
    say(text_of(key), "is " + value + ", which was not in the machine");
  }

  // What is odd about a machine is no more odd after it has been written. A GPU may have another
  // name there, and without withheld CPUs nodes look uneven.
  void check_warnings(const HostModel& again) {
    if (left_out_.contains("withheld")) return;
    for (const Warning& warning : again.warnings) {
      const bool is_renamed = warning.text.starts_with("GPU ") && left_out_.contains("gpus.name");
      const bool is_known = std::ranges::any_of(
          host_.warnings, [&](const Warning& one) { return one.text == warning.text; });
      if (!is_known && !is_renamed) say("there is a new warning:", warning.text);
    }
  }

  // What has been read is written as before.
  void check_again(const HostModel& again) {
    const auto third = read_host_text({std::string(form_.name), form_.write(again)});
    if (!third.ok()) return say("written twice, it", "is refused: " + third.status().text());
    if (facts_of(*third) != after_) say("written twice, it", "is another machine");
  }

  const HostModel& host_;
  const Form& form_;
  Facts before_, after_;
  std::set<std::string> left_out_, lost_;  // lost: of those, the ones that a fact was missed for
  std::vector<std::string> faults_;
};

}  // namespace paceline::topology
