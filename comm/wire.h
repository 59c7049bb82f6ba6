// Framing between ranks: pure functions from values to bytes and back.
//
// A message on a data connection is a header of kHeaderBytes and `payload_bytes` of payload. A
// data message carries elements; a loan is a data message that carries where they lie instead, in a
// buffer that its receiver reaches. The other kinds are control messages, which need no posted
// receive: a notice carries an encoded Status (an error that its receiver must know about), an
// inquiry, its answer and a goodbye carry an Account of their sender (comm/account.h).
//
//   offset  0  u32 magic "PLm1"      16  u64 sequence      40  u8 message kind
//           4  i32 root              24  u64 count         41  u8 operation kind
//           8  u64 payload_bytes     32  u64 history       42  u8 data type, 43 u8 reduce op
//                                                          44  u32 plan
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <paceline/status.h>

#include "comm/base/signature.h"
#include "comm/bytes.h"

namespace paceline {

inline constexpr std::size_t kHeaderBytes = 48;
/// Longest payload of one message: beyond it a header is a defect or an attack.
inline constexpr std::uint64_t kMaxPayloadBytes = std::uint64_t{1} << 40;
inline constexpr std::size_t kMaxControlBytes = 8192;

enum class MessageKind : std::uint8_t {
  kData,
  kNotice,   ///< an error that ends its receiver's operations too
  kInquiry,  ///< its sender is stuck and asks where the receiver is
  kAnswer,   ///< to an inquiry
  kGoodbye,  ///< its sender leaves
  kLoan,     ///< an encoded Loan
};

/// Data or a loan: meets a receive.
constexpr bool meets_receive(MessageKind kind) {
  return kind == MessageKind::kData || kind == MessageKind::kLoan;
}

/// Data that stays with its sender until it is copied: a place in the sender's arena
/// (comm/memory_domain.h).
struct Loan {
  std::uint64_t place = 0;
  std::uint64_t bytes = 0;

  bool operator==(const Loan&) const = default;
};
using LoanBytes = std::array<std::byte, 16>;
LoanBytes encode_loan(const Loan& loan);
Loan decode_loan(std::span<const std::byte, sizeof(LoanBytes)> bytes);

struct MessageHeader {
  MessageKind kind = MessageKind::kData;
  Signature signature;
  std::uint64_t payload_bytes = 0;

  bool operator==(const MessageHeader&) const = default;
};

using HeaderBytes = std::array<std::byte, kHeaderBytes>;

HeaderBytes encode_header(const MessageHeader& header);
/// Refuses what encode_header() does not make: wrong magic, values out of range.
Result<MessageHeader> decode_header(std::span<const std::byte, kHeaderBytes> bytes);

/// A failed Status as the payload of a notice, its texts cut so that it fits kMaxControlBytes.
Bytes encode_notice(const Status& status);
/// Into `status`, which is a failure then; the return value says whether decoding worked.
Status decode_notice(ByteView bytes, Status& status);

}  // namespace paceline
