// Takes packets for one address out of the way that they leave by: a table of nf_tables with a
// chain at the egress hook of their device (nft(8), Linux 5.16). Queueing disciplines of the device
// stay as they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <paceline/status.h>

#include "comm/base/ip_address.h"
#include "comm/base/unique_fd.h"

namespace paceline::launcher {

struct EgressRedirect {
  std::string table;  ///< its name, unlike all others in this network namespace
  std::string device;
  IpAddress to;
  std::uint32_t first_mark = 0;  ///< packets with a mark (SO_MARK) from this one
  std::uint32_t last_mark = 0;   ///< to this one leave as before
  /// Index of the device that gets the others. Redirects of one device have the order of these.
  int into_device = 0;
};

/// The socket that is returned owns the table (NFT_TABLE_F_OWNER): the kernel removes the table
/// when the socket closes, also if this process is killed. Needs CAP_NET_ADMIN.
Result<UniqueFd> redirect_egress(const EgressRedirect& redirect);

/// Later packets leave as before. The table remains until `socket` closes, which takes the kernel
/// some milliseconds.
Status end_redirect(const UniqueFd& socket, const std::string& table);

/// Whether an Ethernet frame goes to this address.
bool goes_to(const IpAddress& to, std::string_view frame);

}  // namespace paceline::launcher
