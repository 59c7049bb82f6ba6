#include "comm/wire.h"

#include <algorithm>
#include <cstring>

namespace paceline {
namespace {

constexpr std::uint32_t kMagic = 0x316D4C50;  // "PLm1"
constexpr std::size_t kMaxNoticeText = 2048;

template <class T>
void store(HeaderBytes& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}
template <class T>
T load(std::span<const std::byte, kHeaderBytes> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}
static_assert(std::endian::native == std::endian::little, "headers are copied as they lie");

Status refuse(const char* why) {
  return Status(Code::kUnavailable, Scope::kPeer, std::string("malformed message: ") + why);
}

template <class Enum>
bool within(std::uint8_t value, Enum last) {
  return value <= static_cast<std::uint8_t>(last);
}

}  // namespace

HeaderBytes encode_header(const MessageHeader& header) {
  HeaderBytes bytes{};
  const Signature& signature = header.signature;
  store(bytes, 0, kMagic);
  store(bytes, 4, signature.root);
  store(bytes, 8, header.payload_bytes);
  store(bytes, 16, signature.sequence);
  store(bytes, 24, signature.count);
  store(bytes, 32, signature.history);
  store(bytes, 40, header.kind);
  store(bytes, 41, signature.kind);
  store(bytes, 42, signature.type);
  store(bytes, 43, signature.op);
  store(bytes, 44, signature.plan);
  return bytes;
}

Result<MessageHeader> decode_header(std::span<const std::byte, kHeaderBytes> bytes) {
  if (load<std::uint32_t>(bytes, 0) != kMagic) return refuse("wrong magic");
  if (!within(load<std::uint8_t>(bytes, 40), MessageKind::kLoan)) return refuse("unknown kind");
  if (!is_known(load<OperationKind>(bytes, 41))) return refuse("unknown operation");
  if (!is_known(load<DataType>(bytes, 42))) return refuse("unknown type");
  if (!is_known(load<ReduceOp>(bytes, 43))) return refuse("unknown op");
  MessageHeader header;
  header.kind = load<MessageKind>(bytes, 40);
  header.payload_bytes = load<std::uint64_t>(bytes, 8);
  header.signature = {.sequence = load<std::uint64_t>(bytes, 16),
                      .count = load<std::uint64_t>(bytes, 24),
                      .root = load<std::int32_t>(bytes, 4),
                      .kind = load<OperationKind>(bytes, 41),
                      .type = load<DataType>(bytes, 42),
                      .op = load<ReduceOp>(bytes, 43),
                      .plan = load<std::uint32_t>(bytes, 44),
                      .history = load<std::uint64_t>(bytes, 32)};
  const std::uint64_t limit =
      header.kind == MessageKind::kData ? kMaxPayloadBytes : kMaxControlBytes;
  if (header.payload_bytes > limit) return refuse("the payload is longer than the limit");
  if (header.kind == MessageKind::kLoan && header.payload_bytes != sizeof(LoanBytes))
    return refuse("the payload of a loan has the wrong length");
  return header;
}

LoanBytes encode_loan(const Loan& loan) {
  LoanBytes bytes{};
  std::memcpy(bytes.data(), &loan.place, 8);
  std::memcpy(bytes.data() + 8, &loan.bytes, 8);
  return bytes;
}

Loan decode_loan(std::span<const std::byte, sizeof(LoanBytes)> bytes) {
  Loan loan;
  std::memcpy(&loan.place, bytes.data(), 8);
  std::memcpy(&loan.bytes, bytes.data() + 8, 8);
  return loan;
}

Bytes encode_notice(const Status& status) {
  const auto cut = [](const std::string& text) {
    return std::string_view(text).substr(0, kMaxNoticeText);
  };
  Bytes bytes;
  ByteWriter writer(bytes);
  const Culprit& culprit = status.culprit();
  writer.put(status.code());
  writer.put(status.scope());
  writer.put(static_cast<std::int32_t>(culprit.rank));
  writer.put(culprit.sequence);
  writer.put_text(cut(status.text()));
  writer.put_text(cut(culprit.host));
  writer.put_text(cut(culprit.operation));
  return bytes;
}

Status decode_notice(ByteView bytes, Status& status) {
  ByteReader reader(bytes);
  const auto code = reader.get<std::uint8_t>();
  const auto scope = reader.get<std::uint8_t>();
  Culprit culprit;
  culprit.rank = reader.get<std::int32_t>();
  culprit.sequence = reader.get<std::int64_t>();
  std::string text = reader.get_text(kMaxNoticeText);
  culprit.host = reader.get_text(kMaxNoticeText);
  culprit.operation = reader.get_text(kMaxNoticeText);
  if (!reader.complete() || code == 0 || !within(code, Code::kInternal) ||
      !within(scope, Scope::kProcess)) {
    return refuse("the notice cannot be decoded");
  }
  status = Status(static_cast<Code>(code), static_cast<Scope>(scope), std::move(text),
                  std::move(culprit));
  return {};
}

}  // namespace paceline
