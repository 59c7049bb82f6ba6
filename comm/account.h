// What a rank says about itself when it is asked, asks, or leaves: the payload of inquiries,
// answers and goodbyes. Pure functions from values to bytes and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <paceline/status.h>

#include "comm/base/signature.h"
#include "comm/bytes.h"

namespace paceline {

struct Account {
  static constexpr std::size_t kMaxRecent = 64;
  static constexpr std::size_t kMaxAwaited = 64;

  std::uint64_t begun = 0;            ///< operations that it has begun
  bool running = false;               ///< the last of them has not ended
  bool waits_for_device = false;      ///< the next one has been called, and waits for its device
  std::vector<Signature> recent;      ///< the last that it has begun, oldest first
  std::vector<std::int32_t> awaited;  ///< ranks without which the running one does not end

  bool operator==(const Account&) const = default;
};

/// Keeps the newest kMaxRecent signatures and the first kMaxAwaited ranks: within kMaxControlBytes.
Bytes encode_account(const Account& account);
/// Refuses what encode_account() does not make, and ranks that are not below `ranks`.
Result<Account> decode_account(ByteView bytes, int ranks);

}  // namespace paceline
