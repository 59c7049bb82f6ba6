// Who takes part: a plain value that comes from above (launcher, rendezvous, elasticity) and that
// a Communicator consumes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paceline {

struct Member {
  std::string host;     ///< the name that errors show
  std::string address;  ///< where its transport listens, "127.0.0.1:40123"; empty if it does not
  std::int64_t pid = 0;
};

/// Members are indexed by rank. Two groups with the same name and another epoch do not talk.
struct Group {
  std::string name = "world";
  std::uint32_t epoch = 0;
  int rank = 0;
  std::vector<Member> members;

  int size() const { return static_cast<int>(members.size()); }
  const Member& self() const { return members[static_cast<std::size_t>(rank)]; }
};

}  // namespace paceline
