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
  RingTransport(std::shared_ptr<PollEngine> engine, const Group& group, ShmPlace place,
                const ShmArea& area, const ShmOptions& options);
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
  TransportCounters counters() const override { return counters_; }
  bool drive(TimePoint now) override;
  TimePoint wake_at() const override;
  Doorbell& doorbell(int rank) const override { return area_.doorbell(rank); }

 private:
  struct Neighbour {
    int rank;
    std::unique_ptr<ShmPeer> peer;
    bool was_seen = false;  // its process has been found to live
  };

  Neighbour& neighbour(int rank);
  const Neighbour& neighbour(int rank) const;
  ShmPeer& peer(int rank) const { return *neighbour(rank).peer; }
  void look_after(Neighbour& neighbour);

  const std::shared_ptr<PollEngine> engine_;  // owners: see Work
  const Group group_;
  const std::shared_ptr<SharedSegment> segment_;  // owners: see ShmPlace
  const ShmArea area_;
  const ProcessIdentity own_process_ = ProcessIdentity::own();
  std::vector<Neighbour> neighbours_;  // by rank, this one left out
  TransportSink* sink_ = nullptr;
  TimePoint look_at_ = TimePoint::min();
  TransportCounters counters_;
  Status aborted_;
};

RingTransport::RingTransport(std::shared_ptr<PollEngine> engine, const Group& group, ShmPlace place,
                             const ShmArea& area, const ShmOptions& options)
    : engine_(std::move(engine)), group_(group), segment_(std::move(place.segment)), area_(area) {
  const Arenas& arenas = options.arenas;
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank) continue;
    Culprit who{.rank = rank, .host = group_.members[static_cast<std::size_t>(rank)].host};
    const ShmStream::Ends ends{.out = area_.ring(group_.rank, rank),
                               .in = area_.ring(rank, group_.rank),
                               .bell = area_.doorbell(rank)};
    const ShmLoans::Ends loans{.ours = area_.loans(group_.rank, rank),
                               .theirs = area_.loans(rank, group_.rank),
                               .bell = area_.doorbell(rank),
                               .may_split = !options.shares_cpus};
    auto view = arenas.own != nullptr ? arenas.views[static_cast<std::size_t>(rank)] : nullptr;
    auto peer = std::make_unique<ShmPeer>(
        ends, std::make_unique<ShmLoans>(loans, arenas.own, std::move(view)), std::move(who));
    neighbours_.push_back({rank, std::move(peer)});
    look_after(neighbours_.back());
  }
  area_.arrive(group_.rank);
  const Engine::Baton baton = engine_->hold();
  engine_->sleep_at(&area_.doorbell(group_.rank));
}

RingTransport::~RingTransport() {
  const Engine::Baton baton = engine_->hold();
  abort(Status(Code::kCancelled, Scope::kGroup, "the transport was destroyed"));
  neighbours_.clear();
  engine_->sleep_at(nullptr);
}

const RingTransport::Neighbour& RingTransport::neighbour(int rank) const {
  PACELINE_ASSERT(rank != group_.rank);
  return neighbours_[static_cast<std::size_t>(rank < group_.rank ? rank : rank - 1)];
}

RingTransport::Neighbour& RingTransport::neighbour(int rank) {
  return const_cast<Neighbour&>(std::as_const(*this).neighbour(rank));
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

// A process that was never seen may be on its way.
void RingTransport::look_after(Neighbour& neighbour) {
  const ProcessIdentity process = area_.process_of(neighbour.rank);
  if (process == own_process_) return;
  const bool lives = segment_->is_taken_by_another(neighbour.rank);
  if (!lives && (neighbour.was_seen || process != ProcessIdentity())) neighbour.peer->set_gone();
  neighbour.was_seen |= lives;
}

}  // namespace

std::size_t ShmTransport::bytes_for(int ranks, std::size_t ring_bytes) {
  return ShmArea::bytes_for(ranks, ring_bytes);
}

Result<std::unique_ptr<ShmTransport>> make_shm_transport(std::shared_ptr<PollEngine> engine,
                                                         const Group& group, ShmPlace place,
                                                         const ShmOptions& options) {
  const std::span<std::byte> memory = place.segment->memory();
  PACELINE_TRY_ASSIGN(const ShmArea area,
                      ShmArea::over(memory.subspan(std::min(place.offset, memory.size())),
                                    group.size(), options.ring_bytes));
  return std::unique_ptr<ShmTransport>(
      std::make_unique<RingTransport>(std::move(engine), group, std::move(place), area, options));
}

}  // namespace paceline
