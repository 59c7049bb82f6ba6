// A stream whose bytes arrive as they were sent, or not at all: for PACELINE_INTEGRITY.
//
// A connection begins with a proof of the job's key (comm/handshake.h). Later data is not protected
// by it: a relay between the two ends can pass the handshake on, and change the data that follows.
//
//   record:  u32 bytes | data, at most kMaxRecordBytes | tag of 16 bytes
//
// The tag is that of AES-128-GMAC (NIST SP 800-38D) over the length and the data. Each connection
// has a key of its own, derived from the job's key and all bytes of its handshake.
// The nonce is the number of the record. So a record that was changed, left out, repeated or moved
// to another connection is found. The data is not encrypted.
//
// Data is handed out once its record has been verified, so it is copied once more than without.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "comm/job_key.h"
#include "comm/transport/byte_stream.h"

struct evp_cipher_ctx_st;

namespace paceline {

class SealedStream final : public ByteStream {
 public:
  static constexpr std::size_t kMaxRecordBytes = std::size_t{64} << 10;
  static constexpr std::size_t kTagBytes = 16;

  /// `inner` carries the records. Both ends have the same `secret`; it is used in one direction
  /// only, and for one connection.
  SealedStream(std::unique_ptr<ByteStream> inner, const Mac& secret);
  ~SealedStream();
  SealedStream(const SealedStream&) = delete;
  SealedStream& operator=(const SealedStream&) = delete;

  /// Takes at most one record's worth. Without parts it only sends what it has taken before.
  Transfer write(std::span<const ByteView> parts) override;
  Transfer read(std::span<const std::span<std::byte>> parts) override;
  bool has_unsent() const override { return sent_ < outgoing_.size(); }
  std::size_t held_bytes() const override { return end_ - begin_; }
  const Status& error() const override { return error_.ok() ? inner_->error() : error_; }

 private:
  struct FreeContext {
    void operator()(evp_cipher_ctx_st* context) const;
  };

  Transfer send_outgoing();
  Transfer receive_more();
  bool open_record();
  bool tag(ByteView text, std::byte* to);
  Transfer broken(const char* why);

  const std::unique_ptr<ByteStream> inner_;
  std::unique_ptr<evp_cipher_ctx_st, FreeContext> context_;
  std::uint64_t records_ = 0;  // sealed, or opened
  Bytes outgoing_;             // a record
  std::size_t sent_ = 0;       // of it
  Bytes incoming_;             // room for a record
  std::size_t begin_ = 0;      // of what has come and was not handed out, in incoming_
  std::size_t end_ = 0;
  std::size_t opened_ = 0;  // bytes at `begin_` that are verified data
  bool inner_has_no_more_ = false;
  Status error_;
};

}  // namespace paceline
