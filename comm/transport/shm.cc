#include "comm/transport/shm.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/assert.h"
#include "comm/base/try.h"
#include "comm/transport/shm_area.h"
#include "comm/transport/shm_peer.h"

namespace paceline {
namespace {

class RingTransport final : public ShmTransport {
 public:
  RingTransport(std::shared_ptr<HostRoom> room, const Group& group, ShmPlace place,
                const ShmArea& area);
  ~RingTransport() override;

  const Group& group() const override { return group_; }
  void set_sink(TransportSink* sink) override { sink_ = sink; }
  void send(int to, const Signature& signature, std::span<const std::byte> payload,
            Request& request) override;
  void receive(int from, std::span<std::byte> buffer, Request& request) override;
  void tell(int to, MessageKind kind, ByteView payload) override;
  bool connected(int rank) const override { return rank != group_.rank && !peer(rank).lost(); }
  Status loss(int rank) override;
  void abort(const Status& why) override;
  bool flushed() const override;
  bool has_work() const override;
  TransportCounters counters() const override { return counters_; }
  bool drive(TimePoint now) override;
  TimePoint wake_at() const override;
  Ringer ringer(int rank) const override { return room_->ringer(place_.of(rank)); }
  const Arenas& arenas() const override { return arenas_; }

 private:
  struct Neighbour {
    int rank;
    std::unique_ptr<ShmPeer> peer;
  };

  Neighbour& neighbour(int rank);
  ShmPeer& peer(int rank) const {
    const std::size_t at = at_[static_cast<std::size_t>(rank)];
    PACELINE_ASSERT(at < neighbours_.size());
    return *neighbours_[at].peer;
  }
  void look_after(Neighbour& neighbour);

  const std::shared_ptr<HostRoom> room_;  // owners: all groups between its members
  const Group group_;
  const ShmPlace place_;
  const ShmArea area_;
  Arenas arenas_;                      // of the ranks in the room
  std::vector<Neighbour> neighbours_;  // those ranks, this one left out
  std::vector<std::size_t> at_;        // by rank: where it stands there
  TransportSink* sink_ = nullptr;
  TimePoint look_at_ = TimePoint::min();
  TransportCounters counters_;
  Status aborted_;
};

RingTransport::RingTransport(std::shared_ptr<HostRoom> room, const Group& group, ShmPlace place,
                             const ShmArea& area)
    : room_(std::move(room)),
      group_(group),
      place_(std::move(place)),
      area_(area),
      arenas_{.own = room_->arenas().own, .views = {}},
      at_(static_cast<std::size_t>(group_.size()), SIZE_MAX) {
  const std::vector<int> here = place_.ranks(group_.size());
  const auto own = static_cast<int>(std::ranges::find(here, group_.rank) - here.begin());
  const Engine::Baton baton = room_->engine()->hold();
  for (int index = 0; index < static_cast<int>(here.size()); ++index) {
    const int rank = here[static_cast<std::size_t>(index)];
    std::shared_ptr<const ArenaView> view;
    if (arenas_.own != nullptr) {
      view = room_->arenas().views[static_cast<std::size_t>(place_.of(rank))];
      arenas_.views.push_back(view);
    }
    if (rank == group_.rank) continue;
    Culprit who{.rank = rank, .host = group_.members[static_cast<std::size_t>(rank)].host};
    const ShmStream::Ends ends{
        .out = area_.ring(own, index), .in = area_.ring(index, own), .bell = ringer(rank)};
    const ShmLoans::Ends loans{.ours = area_.loans(own, index),
                               .theirs = area_.loans(index, own),
                               .bell = ringer(rank),
                               .may_split = !room_->shares_cpus()};
    auto peer = std::make_unique<ShmPeer>(
        ends, std::make_unique<ShmLoans>(loans, arenas_.own, std::move(view)), std::move(who));
    at_[static_cast<std::size_t>(rank)] = neighbours_.size();
    neighbours_.push_back({rank, std::move(peer)});
    look_after(neighbours_.back());
  }
}

RingTransport::~RingTransport() {
  const Engine::Baton baton = room_->engine()->hold();
  abort(Status(Code::kCancelled, Scope::kGroup, "the transport was destroyed"));
  neighbours_.clear();
}

RingTransport::Neighbour& RingTransport::neighbour(int rank) {
  return neighbours_[at_[static_cast<std::size_t>(rank)]];
}

void RingTransport::send(int to, const Signature& signature, std::span<const std::byte> payload,
                         Request& request) {
  if (!aborted_.ok()) return request.end(aborted_);
  ShmPeer& there = peer(to);
  if (there.lost()) return request.end(there.loss());
  ++counters_.messages_sent;
  counters_.bytes_sent += payload.size();
  there.push(signature, payload, request);
  there.flush();
}

void RingTransport::receive(int from, std::span<std::byte> buffer, Request& request) {
  if (!aborted_.ok()) return request.end(aborted_);
  ShmPeer& there = peer(from);
  there.inbox.post(buffer, request);
  if (!there.lost()) return;
  there.inbox.copy_borrowed();
  there.inbox.end_receives(there.loss());
}

void RingTransport::tell(int to, MessageKind kind, ByteView payload) {
  if (to == group_.rank || peer(to).lost()) return;
  peer(to).outbox.push_control(kind, payload);
  peer(to).flush();
}

Status RingTransport::loss(int rank) {
  Neighbour& there = neighbour(rank);
  if (!there.peer->lost()) {
    look_after(there);
    there.peer->drive();
  }
  return there.peer->loss();
}

void RingTransport::abort(const Status& why) {
  if (!aborted_.ok()) return;
  aborted_ = why;
  for (const Neighbour& neighbour : neighbours_) neighbour.peer->abort(why);
}

// What lies in a ring needs its writer no more.
bool RingTransport::flushed() const {
  return std::none_of(neighbours_.begin(), neighbours_.end(),
                      [](const Neighbour& neighbour) { return neighbour.peer->outbox.has_own(); });
}

bool RingTransport::has_work() const {
  return std::any_of(neighbours_.begin(), neighbours_.end(),
                     [](const Neighbour& neighbour) { return neighbour.peer->has_to_send(); });
}

bool RingTransport::drive(TimePoint now) {
  if (now >= look_at_) {
    look_at_ = now + kLookEvery;
    for (Neighbour& neighbour : neighbours_) {
      if (neighbour.peer->awaited()) look_after(neighbour);
    }
  }
  bool moved = false;
  for (const Neighbour& neighbour : neighbours_) {
    moved |= neighbour.peer->drive();
    moved |= neighbour.peer->inbox.report(neighbour.rank, sink_);
  }
  return moved;
}

TimePoint RingTransport::wake_at() const {
  const bool awaits =
      std::any_of(neighbours_.begin(), neighbours_.end(),
                  [](const Neighbour& neighbour) { return neighbour.peer->awaited(); });
  return awaits ? look_at_ : TimePoint::max();
}

void RingTransport::look_after(Neighbour& neighbour) {
  if (room_->has_left(place_.of(neighbour.rank))) neighbour.peer->set_gone();
}

}  // namespace

std::size_t ShmTransport::bytes_for(int ranks, std::size_t ring_bytes) {
  return ShmArea::bytes_for(ranks, ring_bytes);
}

Result<std::unique_ptr<ShmTransport>> make_shm_transport(std::shared_ptr<HostRoom> room,
                                                         const Group& group, ShmPlace place) {
  const auto here = static_cast<int>(place.ranks(group.size()).size());
  PACELINE_TRY_ASSIGN(const ShmArea area,
                      ShmArea::over(place.part.memory(), here, place.ring_bytes));
  return std::unique_ptr<ShmTransport>(
      std::make_unique<RingTransport>(std::move(room), group, std::move(place), area));
}

}  // namespace paceline
