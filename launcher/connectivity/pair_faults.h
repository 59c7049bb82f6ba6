// Which hosts cannot exchange data, in words: a small matrix, and where to look. Pure.
//
//     from \ to  h1         h2         h3
//     h1         -          ok         no answer
//     h2         ok         -          ok
//     h3         no answer  ok         -
//
// Of a way that fails the directions are told apart where that can be known: by first packets that
// came although their answers did not, and by which long messages were lost.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launcher/connectivity/pair_table.h"

namespace paceline::launcher {

/// More rows and columns are not printed.
inline constexpr std::size_t kMaxMatrixHosts = 12;

/// What does not arrive: from one host to another.
struct LossyWay {
  std::size_t from = 0;
  std::size_t to = 0;
  messages::TrialEnd how = messages::PENDING;

  bool operator==(const LossyWay&) const = default;
};

/// By what `rail` of the table shows.
std::vector<LossyWay> lossy_ways(const PairTable& table, std::size_t rail);

/// The hosts that, one after the other, take part in most of the ways that are left.
std::vector<std::size_t> hosts_to_look_at(std::vector<LossyWay> ways);

/// Several lines, for people; of a table that is not good on any rail.
std::string describe_faults(const PairTable& table, const std::vector<std::string>& hosts);

struct FaultyHost {
  std::size_t host = 0;
  std::string why;
  std::optional<std::size_t> or_host;  ///< that may as well be the reason
};
/// Hosts without which all others can exchange data, each with a clause that says why; of a table
/// that is not good on any rail.
std::vector<FaultyHost> faulty_hosts(const PairTable& table, const std::vector<std::string>& hosts);

/// A sentence for each faster network that is not used, as not all hosts reach each other there.
std::vector<std::string> passed_over(const PairTable& table, std::size_t chosen,
                                     const std::vector<std::string>& hosts);

}  // namespace paceline::launcher
