// The framing between ranks: what can be decoded is encoded to the same bytes again, so no two
// byte strings mean the same and no field is lost. The whole input is tried as each of the three.

#include <algorithm>

#include "comm/account.h"
#include "comm/base/assert.h"
#include "comm/wire.h"
#include "tests/fuzz/fuzz_input.h"

namespace paceline {
namespace {

bool same(ByteView a, ByteView b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

void try_header(ByteView bytes) {
  if (bytes.size() < kHeaderBytes) return;
  const auto first = bytes.first<kHeaderBytes>();
  const Result<MessageHeader> header = decode_header(first);
  if (!header.ok()) return;
  PACELINE_ASSERT(same(encode_header(*header), first));
  const bool data = header->kind == MessageKind::kData;
  PACELINE_ASSERT(header->payload_bytes <= (data ? kMaxPayloadBytes : kMaxControlBytes));
  const Signature& signature = header->signature;
  PACELINE_ASSERT(header->kind <= MessageKind::kGoodbye);
  PACELINE_ASSERT(is_known(signature.kind) && is_known(signature.op) && is_known(signature.type));
  PACELINE_ASSERT(!signature.to_string().empty());
}

void try_notice(ByteView bytes) {
  Status notice;
  if (!decode_notice(bytes, notice).ok()) {
    PACELINE_ASSERT(notice.ok());
    return;
  }
  PACELINE_ASSERT(!notice.ok() && !notice.to_string().empty());
  const Bytes again = encode_notice(notice);
  PACELINE_ASSERT(same(again, bytes) && again.size() <= kMaxControlBytes);
}

constexpr int kRanks = 1 << 16;

void try_account(ByteView bytes) {
  const Result<Account> account = decode_account(bytes, kRanks);
  if (!account.ok()) return;
  PACELINE_ASSERT(account->recent.size() <= Account::kMaxRecent);
  PACELINE_ASSERT(account->awaited.size() <= Account::kMaxAwaited);
  for (const int rank : account->awaited) PACELINE_ASSERT(rank >= 0 && rank < kRanks);
  const Bytes again = encode_account(*account);
  PACELINE_ASSERT(same(again, bytes) && again.size() <= kMaxControlBytes);
}

}  // namespace
}  // namespace paceline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const paceline::ByteView bytes = paceline::fuzz::as_byte_view(data, size);
  paceline::try_header(bytes);
  paceline::try_notice(bytes);
  paceline::try_account(bytes);
  return 0;
}
