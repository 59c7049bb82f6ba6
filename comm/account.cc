#include "comm/account.h"

#include <algorithm>

#include "comm/wire.h"

namespace paceline {
namespace {

constexpr std::size_t kFixedBytes = 13;
constexpr std::size_t kSignatureBytes = 35;
constexpr std::uint8_t kRunning = 1;
constexpr std::uint8_t kWaitsForDevice = 2;
static_assert(kFixedBytes + Account::kMaxRecent * kSignatureBytes + Account::kMaxAwaited * 4 <=
              kMaxControlBytes);

void put_signature(ByteWriter& writer, const Signature& signature) {
  writer.put(signature.sequence);
  writer.put(signature.count);
  writer.put(signature.history);
  writer.put(signature.root);
  writer.put(signature.plan);
  writer.put(signature.kind);
  writer.put(signature.type);
  writer.put(signature.op);
}

Signature get_signature(ByteReader& reader) {
  Signature signature;
  signature.sequence = reader.get<std::uint64_t>();
  signature.count = reader.get<std::uint64_t>();
  signature.history = reader.get<std::uint64_t>();
  signature.root = reader.get<std::int32_t>();
  signature.plan = reader.get<std::uint32_t>();
  signature.kind = reader.get<OperationKind>();
  signature.type = reader.get<DataType>();
  signature.op = reader.get<ReduceOp>();
  return signature;
}

bool is_known(const Signature& signature) {
  return paceline::is_known(signature.kind) && paceline::is_known(signature.type) &&
         paceline::is_known(signature.op);
}

}  // namespace

Bytes encode_account(const Account& account) {
  Bytes bytes;
  ByteWriter writer(bytes);
  const std::size_t recent = std::min(account.recent.size(), Account::kMaxRecent);
  const std::size_t awaited = std::min(account.awaited.size(), Account::kMaxAwaited);
  writer.put(account.begun);
  writer.put(static_cast<std::uint8_t>((account.running ? kRunning : 0) |
                                       (account.waits_for_device ? kWaitsForDevice : 0)));
  writer.put(static_cast<std::uint16_t>(recent));
  writer.put(static_cast<std::uint16_t>(awaited));
  for (std::size_t i = account.recent.size() - recent; i < account.recent.size(); ++i) {
    put_signature(writer, account.recent[i]);
  }
  for (std::size_t i = 0; i < awaited; ++i) writer.put(account.awaited[i]);
  return bytes;
}

Result<Account> decode_account(ByteView bytes, int ranks) {
  ByteReader reader(bytes);
  Account account;
  account.begun = reader.get<std::uint64_t>();
  const auto state = reader.get<std::uint8_t>();
  const std::size_t recent = reader.get<std::uint16_t>();
  const std::size_t awaited = reader.get<std::uint16_t>();
  bool known = state <= (kRunning | kWaitsForDevice) && recent <= Account::kMaxRecent &&
               awaited <= Account::kMaxAwaited;
  account.running = (state & kRunning) != 0;
  account.waits_for_device = (state & kWaitsForDevice) != 0;
  for (std::size_t i = 0; known && i < recent; ++i) {
    known = is_known(account.recent.emplace_back(get_signature(reader)));
  }
  for (std::size_t i = 0; known && i < awaited; ++i) {
    const int rank = account.awaited.emplace_back(reader.get<std::int32_t>());
    known = rank >= 0 && rank < ranks;
  }
  if (known && reader.complete()) return account;
  return Status(Code::kUnavailable, Scope::kPeer,
                "malformed message: the account of operations cannot be decoded");
}

}  // namespace paceline
