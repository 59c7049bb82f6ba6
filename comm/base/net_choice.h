// Which of a host's interfaces may carry a job's data: PACELINE_NET, or what NCCL's and Gloo's
// variables say where it is not set. Pure.
//
//   PACELINE_NET=eth,=ib0       begins with "eth", or is called "ib0"
//   PACELINE_NET=^docker,lo     neither begins with "docker" nor with "lo"
//   PACELINE_NET=10.0.0.0/8     has an address of this network
//
// = and ^ hold for the words behind them, too, as in NCCL_SOCKET_IFNAME. An interface may be used
// if a word that asks for some takes it, or none asks, and no word behind ^ does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "comm/base/ip_address.h"

namespace paceline {

enum class NetDialect {
  kPaceline,
  kNccl,  ///< without addresses
  kGloo,  ///< whole names alone
};

class NetChoice {
 public:
  static constexpr std::size_t kMaxWords = 64;
  static constexpr std::size_t kMaxNameBytes = 15;  // the kernel's IFNAMSIZ, without the zero

  /// Takes every interface.
  NetChoice() = default;
  /// An error names the word that is not of the form. In the others' dialects there is none: what
  /// they cannot mean takes nothing.
  static Result<NetChoice> parse(std::string_view text, NetDialect dialect);

  struct Variables {
    std::string_view paceline;  ///< PACELINE_NET
    std::string_view nccl;      ///< NCCL_SOCKET_IFNAME
    std::string_view gloo;      ///< GLOO_SOCKET_IFNAME
  };
  /// By the first of them that is not empty.
  static Result<NetChoice> choose(const Variables& variables);

  bool takes(std::string_view interface, const IpAddress& address) const;
  /// Whether anything was asked for.
  bool is_stated() const { return !words_.empty(); }
  /// "PACELINE_NET=ib0", for people; empty where nothing was asked for.
  const std::string& text() const { return text_; }

 private:
  struct Word {
    bool excludes = false;
    bool whole = false;
    std::string name;   // empty: a network
    IpAddress network;  // of its kind and these bits
    int bits = 0;
  };
  static Result<Word> parse_word(std::string_view word, NetDialect dialect);
  static bool matches(const Word& word, std::string_view interface, const IpAddress& address);

  std::vector<Word> words_;
  std::string text_;
};

}  // namespace paceline
