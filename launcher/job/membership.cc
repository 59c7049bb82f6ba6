#include "launcher/job/membership.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/options/job_spec.h"

namespace paceline::launcher {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;

Status invalid(const std::string& why) {
  return Status(Code::kInvalidArgument, Scope::kOperation, why);
}

Status out_of_order(const std::string& what, std::uint32_t epoch) {
  return invalid(what + " of epoch " + std::to_string(epoch) +
                 " cannot follow the entries before it");
}

std::string line_of(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

// "0-3,8"
std::string text_of(const std::vector<std::uint32_t>& workers) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < workers.size();) {
    std::size_t last = i;
    while (last + 1 < workers.size() && workers[last + 1] == workers[last] + 1) ++last;
    ranges.push_back(std::to_string(workers[i]) +
                     (last > i ? "-" + std::to_string(workers[last]) : ""));
    i = last + 1;
  }
  return joined(ranges, ",");
}

json to_json(const EpochBegins& begins) {
  json members = json::array();
  for (const HostMembers& one : begins.members)
    members.push_back({{"host", one.host}, {"workers", text_of(one.workers)}});
  return {{"begins", begins.epoch}, {"members", std::move(members)}};
}

json to_json(const EpochEnds& ends) { return {{"ends", ends.epoch}, {"why", ends.why}}; }

json to_json(const HostLost& lost) {
  return {{"lost", lost.epoch}, {"host", lost.host}, {"why", lost.why}};
}

// Returns nothing, or ranks that text_of() writes differently, for any other text.
std::vector<std::uint32_t> workers_of(std::string_view text) {
  std::vector<std::uint32_t> workers;
  while (!text.empty()) {
    const std::string_view range = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), range.size() + 1));
    const std::size_t dash = range.find('-');
    const auto first = parse_number<std::uint32_t>(range.substr(0, dash));
    const auto last =
        dash == range.npos ? first : parse_number<std::uint32_t>(range.substr(dash + 1));
    if (!first || !last || *last >= kMaxRanks) return {};
    for (std::uint32_t rank = *first; rank <= *last; ++rank) workers.push_back(rank);
  }
  return workers;
}

// Throws json::exception for any other document.
MembershipEntry entry_of(const json& document) {
  if (document.contains("ends"))
    return EpochEnds{.epoch = document.at("ends"), .why = document.at("why")};
  if (document.contains("lost"))
    return HostLost{
        .epoch = document.at("lost"), .host = document.at("host"), .why = document.at("why")};
  EpochBegins begins{.epoch = document.at("begins")};
  for (const json& one : document.at("members"))
    begins.members.push_back(
        {.host = one.at("host"), .workers = workers_of(one.at("workers").get<std::string>())});
  return begins;
}

Result<MembershipEntry> parse_entry(std::string_view line) {
  try {
    return entry_of(json::parse(line));
  } catch (const json::exception&) {
    return invalid("it is not an entry of a membership log");
  }
}

// Why the first line is not that of the job.
Status refuse_header(std::string_view line) {
  const json header = json::parse(line, nullptr, false);
  if (!header.is_object() || header.value("paceline_membership", json()) != json(kFormat))
    return invalid("it is not a membership log of this version of paceline");
  const json command = header.value("command", json());
  const json ranks = header.value("ranks", json());
  return invalid("it is the log of another job, with " + printable(ranks.dump()) +
                 " ranks: " + printable(command.is_string() ? command.get<std::string>() : ""));
}

}  // namespace

// ---- Entries -------------------------------------------------------------------------------

Status Membership::apply(const MembershipEntry& entry) {
  return std::visit([this](const auto& one) { return add(one); }, entry);
}

// The head may have been killed before it could write that an epoch ends.
Status Membership::add(const EpochBegins& begins) {
  if (begins.epoch != next_epoch()) return out_of_order("the begin", begins.epoch);
  last_ = begins;
  ended_ = false;
  return {};
}

Status Membership::add(const EpochEnds& ends) {
  if (!is_running() || ends.epoch != last_->epoch) return out_of_order("the end", ends.epoch);
  ended_ = true;
  return {};
}

// Also after the end, which is recorded when the ranks begin to end. A host that is to take part in
// the next epoch may be lost, too.
Status Membership::add(const HostLost& lost) const {
  const bool is_last = last_ && lost.epoch == last_->epoch;
  return is_last ? Status() : out_of_order("the loss of a host", lost.epoch);
}

// ---- Text ----------------------------------------------------------------------------------

std::string membership_header(const MembershipJob& job) {
  return line_of(
      {{"paceline_membership", kFormat}, {"command", job.command}, {"ranks", job.ranks}});
}

std::string membership_line(const MembershipEntry& entry) {
  return line_of(std::visit([](const auto& one) { return to_json(one); }, entry));
}

Result<MembershipLog> parse_membership_log(std::string_view text, const MembershipJob& job) {
  MembershipLog log;
  const std::string header = membership_header(job);
  // The head was killed while it wrote the first line.
  if (text.size() < header.size() && header.starts_with(text)) return log;
  for (int number = 1; log.whole_bytes < text.size(); ++number) {
    const std::size_t end = text.find('\n', log.whole_bytes);
    const std::string_view line = text.substr(log.whole_bytes, end - log.whole_bytes);
    if (number == 1 && std::string(line) + "\n" != header) return refuse_header(line);
    if (end == text.npos) break;
    if (number > 1) {
      const auto in_line = [number](const Status& why) {
        return invalid("line " + std::to_string(number) + ": " + std::string(why.text()));
      };
      const Result<MembershipEntry> entry = parse_entry(line);
      if (!entry.ok()) return in_line(entry.status());
      if (membership_line(*entry) != std::string(line) + "\n")
        return in_line(invalid("it is not written as this version of paceline writes it"));
      if (const Status applied = log.members.apply(*entry); !applied.ok()) return in_line(applied);
    }
    log.whole_bytes = end + 1;
  }
  return log;
}

}  // namespace paceline::launcher
