// The two rings between this rank and another as one stream of bytes that wakes the other side.
#pragma once

#include "comm/doorbell.h"
#include "comm/transport/byte_ring.h"

namespace paceline {

class ShmStream final : public ByteStream {
 public:
  struct Ends {
    ByteRing out, in;
    Ringer bell;  // the other side's
  };
  explicit ShmStream(const Ends& ends)
      : turn_bytes_(ends.out.capacity()), writer_(ends.out), reader_(ends.in), bell_(ends.bell) {}

  /// No more than a ring full goes each way in a turn, so that a long message holds up neither the
  /// other direction nor other peers.
  void begin_turn() { written_ = read_ = 0; }
  bool has_input() const { return gone_ || reader_.has_input(); }

  /// kClosed where the other side has left: nobody reads any more.
  Transfer write(std::span<const ByteView> parts) override;
  Transfer read(std::span<const std::span<std::byte>> parts) override;
  const Status& error() const override { return error_; }

  /// The other side's process has ended: the stream closes behind what it has written.
  void set_gone() { gone_ = true; }
  bool has_gone() const { return gone_; }
  /// This side leaves.
  void close();

 private:
  const std::size_t turn_bytes_;
  RingWriter writer_;
  RingReader reader_;
  const Ringer bell_;
  std::size_t written_ = 0;  // in this turn
  std::size_t read_ = 0;
  bool gone_ = false;
  Status error_;
};

}  // namespace paceline
