#include "comm/transport/composite.h"

#include <algorithm>
#include <utility>

namespace paceline {
namespace {

class CompositeTransport final : public Transport {
 public:
  CompositeTransport(std::unique_ptr<Transport> near, const std::vector<int>& near_ranks,
                     std::unique_ptr<Transport> far)
      : near_(std::move(near)),
        far_(std::move(far)),
        by_rank_(static_cast<std::size_t>(far_->group().size()), far_.get()) {
    for (const int rank : near_ranks) by_rank_[static_cast<std::size_t>(rank)] = near_.get();
  }

  const Group& group() const override { return far_->group(); }
  void set_sink(TransportSink* sink) override {
    near_->set_sink(sink);
    far_->set_sink(sink);
  }
  void send(int to, const Signature& signature, std::span<const std::byte> payload,
            Request& request) override {
    to_rank(to).send(to, signature, payload, request);
  }
  void receive(int from, std::span<std::byte> buffer, Request& request) override {
    to_rank(from).receive(from, buffer, request);
  }
  void tell(int to, MessageKind kind, ByteView payload) override {
    to_rank(to).tell(to, kind, payload);
  }
  bool connected(int rank) const override { return to_rank(rank).connected(rank); }
  Status loss(int rank) override { return to_rank(rank).loss(rank); }
  void abort(const Status& why) override {
    near_->abort(why);
    far_->abort(why);
  }
  bool flushed() const override { return near_->flushed() && far_->flushed(); }
  bool has_work() const override { return near_->has_work() || far_->has_work(); }
  bool ends_sends_early() const override {
    return near_->ends_sends_early() || far_->ends_sends_early();
  }
  TransportCounters counters() const override {
    const TransportCounters near = near_->counters(), far = far_->counters();
    return {.messages_sent = near.messages_sent + far.messages_sent,
            .bytes_sent = near.bytes_sent + far.bytes_sent};
  }
  bool drive(TimePoint now) override {
    const bool moved = near_->drive(now);
    return far_->drive(now) || moved;
  }
  TimePoint wake_at() const override { return std::min(near_->wake_at(), far_->wake_at()); }

 private:
  Transport& to_rank(int rank) const { return *by_rank_[static_cast<std::size_t>(rank)]; }

  const std::unique_ptr<Transport> near_, far_;
  std::vector<Transport*> by_rank_;
};

}  // namespace

std::unique_ptr<Transport> make_composite_transport(std::unique_ptr<Transport> near,
                                                    const std::vector<int>& near_ranks,
                                                    std::unique_ptr<Transport> far) {
  return std::make_unique<CompositeTransport>(std::move(near), near_ranks, std::move(far));
}

}  // namespace paceline
