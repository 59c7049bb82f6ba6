// The members of a communicator, as a plain value.
//
// Example:
//   for (const paceline::Member& member : world.group().members)
//     std::cout << member.host << " process " << member.pid << '\n';
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paceline {

/// One rank.
struct Member {
  std::string host;      ///< host name, as errors show it
  std::string address;   ///< where its transport listens, "127.0.0.1:40123"; empty: does not listen
  std::int64_t pid = 0;  ///< process id on its host
};

/// Ranks of groups that differ in name or epoch do not exchange messages.
struct Group {
  std::string name = "world";
  std::uint32_t epoch = 0;
  int rank = 0;                 ///< rank of this process
  std::vector<Member> members;  ///< indexed by rank

  int size() const { return static_cast<int>(members.size()); }
  const Member& self() const { return members[static_cast<std::size_t>(rank)]; }
};

}  // namespace paceline
