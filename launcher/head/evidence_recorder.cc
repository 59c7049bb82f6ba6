#include "launcher/head/evidence_recorder.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "launcher/channel/build_name.h"

namespace paceline::launcher {
namespace {

constexpr Duration kFlushEvery = std::chrono::seconds(1);
constexpr std::size_t kRoomForEnd = 4096;

// The message without the fields on which the verdict does not depend.
std::optional<messages::FromAgent> evidence_of(const messages::FromAgent& message) {
  if (message.has_links()) return message;
  messages::FromAgent part;
  if (message.has_measured()) {
    part = message;
    part.mutable_measured()->clear_whereabouts();
    part.mutable_measured()->clear_communicators();
    return part;
  }
  if (!message.has_host()) return std::nullopt;
  part.set_epoch(message.epoch());
  part.mutable_host()->set_time_ns(message.host().time_ns());
  if (message.host().has_clock()) *part.mutable_host()->mutable_clock() = message.host().clock();
  return part;
}

}  // namespace

EvidenceRecorder::~EvidenceRecorder() {
  if (!has_ended_) write(packer_.finish());
}

messages::EvidenceItem EvidenceRecorder::item_at(TimePoint now) {
  latest_ = std::max(latest_, now);
  messages::EvidenceItem item;
  item.set_time_ns(latest_.time_since_epoch().count());
  return item;
}

void EvidenceRecorder::write(const std::string& bytes) {
  const Status written = options_.file->append(bytes);
  if (written.ok()) return;
  has_ended_ = true;
  options_.say("warning: the evidence ends early: " + std::string(written.text()));
}

void EvidenceRecorder::end(TimePoint now, const std::string& cut) {
  messages::EvidenceItem item = item_at(now);
  item.mutable_end()->set_cut(cut);
  packer_.add(item);
  write(packer_.finish());
  if (!cut.empty() && !has_ended_) options_.say("warning: the evidence ends early: " + cut);
  has_ended_ = true;
}

// A file that is full ends with an item that says so.
void EvidenceRecorder::add(const messages::EvidenceItem& item) {
  if (has_ended_) return;
  const std::size_t bytes = item.ByteSizeLong();
  std::size_t max_bytes = 0;
  if (packer_.most_bytes() + bytes > options_.most_bytes) max_bytes = options_.most_bytes;
  if (packer_.expanded_bytes() + bytes + kRoomForEnd > kMostExpandedBytes)
    max_bytes = kMostExpandedBytes;
  if (max_bytes > 0)
    return end(TimePoint(Duration(item.time_ns())),
               "it has its max size, " + std::to_string(max_bytes) + " bytes" +
                   (max_bytes == kMostExpandedBytes ? " before compression" : ""));
  packer_.add(item);
}

void EvidenceRecorder::note_start(TimePoint now, const JobState& state) {
  epoch_ = state.epoch;
  messages::EvidenceItem item = item_at(now);
  messages::EvidenceStart& start = *item.mutable_start();
  start.set_version(kEvidenceVersion);
  start.set_build(std::string(build_name()));
  start.set_epoch(state.epoch);
  for (const HostState& host : state.hosts) start.add_hosts(host.name);
  for (const RankState& rank : state.ranks)
    start.add_rank_hosts(static_cast<std::uint32_t>(rank.host));
  add(item);
}

void EvidenceRecorder::note_message(TimePoint now, const AgentSaid& said) {
  auto evidence = evidence_of(said.message);
  if (!evidence) return;
  messages::EvidenceItem item = item_at(now);
  item.mutable_said()->set_host(static_cast<std::uint32_t>(said.host));
  *item.mutable_said()->mutable_message() = std::move(*evidence);
  add(item);
}

void EvidenceRecorder::saw(TimePoint now, const JobEvent& event, const JobState& state) {
  if (has_ended_) return;
  if (epoch_ != state.epoch) note_start(now, state);
  const auto* said = std::get_if<AgentSaid>(&event);
  if (said != nullptr && said->message.epoch() == state.epoch && said->host < state.hosts.size())
    note_message(now, *said);
  if (has_ended_) return;
  if (state.finished) return end(now, "");
  if (now - written_ < kFlushEvery) return;
  written_ = now;
  write(packer_.flush());
}

}  // namespace paceline::launcher
