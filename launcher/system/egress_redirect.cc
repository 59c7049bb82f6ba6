#include "launcher/system/egress_redirect.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include "comm/base/function_ref.h"
#include "comm/base/try.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr const char* kChain = "egress";

// In network byte order.
std::uint16_t protocol_of(const IpAddress& address) {
  return htons(address.is_v6() ? ETH_P_IPV6 : ETH_P_IP);
}

// The offset of the destination in the header of IP.
std::size_t destination_of(const IpAddress& address) { return address.is_v6() ? 24 : 16; }

constexpr std::size_t aligned(std::size_t size) {
  return (size + NLA_ALIGNTO - 1) / NLA_ALIGNTO * NLA_ALIGNTO;
}

// Messages of netlink(7) with their attributes, one after the other.
class Batch {
 public:
  using Body = FunctionRef<void()>;

  void message(int type, int flags, int family, Body body) {
    const std::size_t at = begin(sizeof(nlmsghdr) + sizeof(nfgenmsg));
    const nfgenmsg general{.nfgen_family = static_cast<std::uint8_t>(family),
                           .version = NFNETLINK_V0,
                           .res_id = htons(NFNL_SUBSYS_NFTABLES)};
    std::memcpy(&bytes_[at + sizeof(nlmsghdr)], &general, sizeof general);
    body();
    const nlmsghdr header{.nlmsg_len = static_cast<std::uint32_t>(bytes_.size() - at),
                          .nlmsg_type = static_cast<std::uint16_t>(type),
                          .nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags),
                          .nlmsg_seq = 0,
                          .nlmsg_pid = 0};
    std::memcpy(&bytes_[at], &header, sizeof header);
  }
  // Makes or removes a table, a chain or a rule.
  void change(int how, int flags, Body body) {
    message(NFNL_SUBSYS_NFTABLES << 8 | how, NLM_F_ACK | flags, NFPROTO_NETDEV, body);
    ++changes_;
  }

  void nest(int type, Body body) { attribute(NLA_F_NESTED | type, body); }
  void bytes(int type, const void* data, std::size_t size) {
    attribute(type, [&] {
      const auto* const first = static_cast<const std::byte*>(data);
      bytes_.insert(bytes_.end(), first, first + size);
    });
  }
  void text(int type, const std::string& value) { bytes(type, value.c_str(), value.size() + 1); }
  void number(int type, std::uint32_t value) {
    const std::uint32_t big_endian = htonl(value);
    bytes(type, &big_endian, sizeof big_endian);
  }

  const std::vector<std::byte>& all() const { return bytes_; }
  int changes() const { return changes_; }

 private:
  std::size_t begin(std::size_t header) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + header);
    return at;
  }
  void attribute(int type, Body body) {
    const std::size_t at = begin(sizeof(nlattr));
    body();
    const nlattr header{.nla_len = static_cast<std::uint16_t>(bytes_.size() - at),
                        .nla_type = static_cast<std::uint16_t>(type)};
    std::memcpy(&bytes_[at], &header, sizeof header);
    bytes_.resize(aligned(bytes_.size()));
  }

  std::vector<std::byte> bytes_;
  int changes_ = 0;
};

// The expressions of a rule. All use one register.
class Rule {
 public:
  explicit Rule(Batch& batch) : batch_(batch) {}

  void load_meta(int key) {
    add("meta", [&] {
      batch_.number(NFTA_META_DREG, NFT_REG_1);
      batch_.number(NFTA_META_KEY, static_cast<std::uint32_t>(key));
    });
  }
  void load_from_ip_header(std::size_t offset, std::size_t size) {
    add("payload", [&] {
      batch_.number(NFTA_PAYLOAD_DREG, NFT_REG_1);
      batch_.number(NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
      batch_.number(NFTA_PAYLOAD_OFFSET, static_cast<std::uint32_t>(offset));
      batch_.number(NFTA_PAYLOAD_LEN, static_cast<std::uint32_t>(size));
    });
  }
  // The rule goes on only if it is equal.
  void is_equal(const void* value, std::size_t size) {
    add("cmp", [&] {
      batch_.number(NFTA_CMP_SREG, NFT_REG_1);
      batch_.number(NFTA_CMP_OP, NFT_CMP_EQ);
      batch_.nest(NFTA_CMP_DATA, [&] { batch_.bytes(NFTA_DATA_VALUE, value, size); });
    });
  }
  // The rule goes on only if the number, in network byte order, is less than `first` or greater
  // than `last`.
  void is_outside(std::uint32_t first, std::uint32_t last) {
    const auto bound = [&](int type, std::uint32_t value) {
      batch_.nest(type, [&] { batch_.number(NFTA_DATA_VALUE, value); });
    };
    add("range", [&] {
      batch_.number(NFTA_RANGE_SREG, NFT_REG_1);
      batch_.number(NFTA_RANGE_OP, NFT_RANGE_NEQ);
      bound(NFTA_RANGE_FROM_DATA, first);
      bound(NFTA_RANGE_TO_DATA, last);
    });
  }
  void to_network_byte_order() {
    add("byteorder", [&] {
      batch_.number(NFTA_BYTEORDER_SREG, NFT_REG_1);
      batch_.number(NFTA_BYTEORDER_DREG, NFT_REG_1);
      batch_.number(NFTA_BYTEORDER_OP, NFT_BYTEORDER_HTON);
      batch_.number(NFTA_BYTEORDER_LEN, sizeof(std::uint32_t));
      batch_.number(NFTA_BYTEORDER_SIZE, sizeof(std::uint32_t));
    });
  }
  void forward_to(int device) {
    add("immediate", [&] {
      batch_.number(NFTA_IMMEDIATE_DREG, NFT_REG_1);
      batch_.nest(NFTA_IMMEDIATE_DATA,
                  [&] { batch_.bytes(NFTA_DATA_VALUE, &device, sizeof device); });
    });
    add("fwd", [&] { batch_.number(NFTA_FWD_SREG_DEV, NFT_REG_1); });
  }

 private:
  void add(const char* name, Batch::Body data) {
    batch_.nest(NFTA_LIST_ELEM, [&] {
      batch_.text(NFTA_EXPR_NAME, name);
      batch_.nest(NFTA_EXPR_DATA, data);
    });
  }

  Batch& batch_;
};

void match_destination(Rule& rule, const IpAddress& to) {
  const std::uint16_t protocol = protocol_of(to);
  rule.load_meta(NFT_META_PROTOCOL);
  rule.is_equal(&protocol, sizeof protocol);
  rule.load_from_ip_header(destination_of(to), to.bytes().size());
  rule.is_equal(to.bytes().data(), to.bytes().size());
}

void make_table(Batch& batch, const EgressRedirect& redirect) {
  batch.change(NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL, [&] {
    batch.text(NFTA_TABLE_NAME, redirect.table);
    batch.number(NFTA_TABLE_FLAGS, NFT_TABLE_F_OWNER);
  });
  batch.change(NFT_MSG_NEWCHAIN, NLM_F_CREATE | NLM_F_EXCL, [&] {
    batch.text(NFTA_CHAIN_TABLE, redirect.table);
    batch.text(NFTA_CHAIN_NAME, kChain);
    batch.text(NFTA_CHAIN_TYPE, "filter");
    batch.nest(NFTA_CHAIN_HOOK, [&] {
      batch.number(NFTA_HOOK_HOOKNUM, NF_NETDEV_EGRESS);
      batch.number(NFTA_HOOK_PRIORITY, static_cast<std::uint32_t>(redirect.into_device));
      batch.text(NFTA_HOOK_DEV, redirect.device);
    });
  });
  batch.change(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND, [&] {
    batch.text(NFTA_RULE_TABLE, redirect.table);
    batch.text(NFTA_RULE_CHAIN, kChain);
    batch.nest(NFTA_RULE_EXPRESSIONS, [&] {
      Rule rule(batch);
      match_destination(rule, redirect.to);
      rule.load_meta(NFT_META_MARK);
      rule.to_network_byte_order();
      rule.is_outside(redirect.first_mark, redirect.last_mark);
      rule.forward_to(redirect.into_device);
    });
  });
}

// The kernel has answered when send() returns, so this never waits: by a message for each change,
// and for the first that it could not make.
Status read_answers(const UniqueFd& socket, int changes) {
  struct Answer {
    nlmsghdr header;
    nlmsgerr error;
  } answer;
  for (int made = 0; made < changes; ++made) {
    if (::recv(socket.get(), &answer, sizeof answer, MSG_DONTWAIT) < 0)
      return system_error("read the answer of nf_tables");
    errno = answer.header.nlmsg_type == NLMSG_ERROR ? -answer.error.error : EPROTO;
    if (errno != 0) return system_error("change a table of nf_tables");
  }
  return Status();
}

// All changes or none.
Status commit(const UniqueFd& socket, FunctionRef<void(Batch&)> changes) {
  Batch batch;
  const auto nothing = [] {};
  batch.message(NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC, nothing);
  changes(batch);
  batch.message(NFNL_MSG_BATCH_END, 0, AF_UNSPEC, nothing);
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (::sendto(socket.get(), batch.all().data(), batch.all().size(), 0,
               reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) < 0)
    return system_error("send to nf_tables");
  return read_answers(socket, batch.changes());
}

}  // namespace

Result<UniqueFd> redirect_egress(const EgressRedirect& redirect) {
  UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER));
  if (!socket) return system_error("open a socket of nf_tables");
  PACELINE_TRY(commit(socket, [&](Batch& batch) { make_table(batch, redirect); }));
  return socket;
}

Status end_redirect(const UniqueFd& socket, const std::string& table) {
  return commit(socket, [&](Batch& batch) {
    batch.change(NFT_MSG_DELRULE, 0, [&] {
      batch.text(NFTA_RULE_TABLE, table);
      batch.text(NFTA_RULE_CHAIN, kChain);
    });
  });
}

bool goes_to(const IpAddress& to, std::string_view frame) {
  const std::size_t destination = sizeof(ethhdr) + destination_of(to);
  if (frame.size() < destination + to.bytes().size()) return false;
  const std::uint16_t protocol = protocol_of(to);
  return std::memcmp(&frame[offsetof(ethhdr, h_proto)], &protocol, sizeof protocol) == 0 &&
         std::memcmp(&frame[destination], to.bytes().data(), to.bytes().size()) == 0;
}

}  // namespace paceline::launcher
