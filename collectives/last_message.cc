#include "collectives/last_message.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "collectives/failure/binomial_graph.h"

namespace paceline {
namespace {

// How long a notice or a goodbye may take to arrive, and how long while bytes move. Afterwards
// peers find out by themselves.
constexpr Duration kFlushPatience = std::chrono::seconds(2);
constexpr Duration kFlushTime = std::chrono::seconds(10);
constexpr Duration kFlushLook = std::chrono::milliseconds(2);

}  // namespace

void tell_connected(Transport* transport, MessageKind kind, ByteView payload) {
  for (int peer = 0; transport != nullptr && peer < transport->group().size(); ++peer) {
    if (transport->connected(peer)) transport->tell(peer, kind, payload);
  }
}

void LastMessage::set(MessageKind kind, Bytes payload) {
  kind_ = kind;
  payload_ = std::move(payload);
}

// Along the connections that exist, so that it comes before the end of each, and along the graph on
// which every rank hears of it.
void LastMessage::spread(const Status& failure) {
  if (parts_.transport == nullptr) return;
  set(MessageKind::kNotice, encode_notice(failure));
  send();
  // A rank that is absent would only keep this rank from leaving.
  const bool absent = failure.code() == Code::kPeerLost || failure.code() == Code::kTimeout;
  for (const int peer : binomial_graph_neighbours(parts_.group.rank, parts_.group.size())) {
    if (parts_.transport->connected(peer)) continue;
    if (absent && peer == failure.culprit().rank) continue;
    answer(peer);
  }
}

bool LastMessage::begin_flush(TimePoint now) {
  if (parts_.transport->flushed()) return false;
  flush_until_ = now + kFlushPatience;
  flush_limit_ = now + kFlushTime;
  flush_look_ = now + kFlushLook;
  if (!std::exchange(is_flushing_, true)) parts_.engine->begin_background();
  return true;
}

bool LastMessage::drive(bool moved, TimePoint now) {
  if (!is_flushing_) return false;
  flush_look_ = now + kFlushLook;
  if (moved) flush_until_ = std::min(now + kFlushPatience, flush_limit_);
  if (!parts_.transport->flushed() && now < flush_until_) return false;
  end_flush();
  return true;
}

void LastMessage::end_flush() {
  if (std::exchange(is_flushing_, false)) parts_.engine->end_background();
}

}  // namespace paceline
