// The hosts and ranks of each start of a job: the entries of the membership log. Pure.
//
// A start has a number, the epoch. Its entry is written before its first rank starts, so no two
// starts of a job have the same epoch, even if the head is killed and the job is run again.
//
//   {"paceline_membership":1,"command":"train.py","ranks":3}
//   {"begins":0,"members":[{"host":"h1","workers":"0-1"},{"host":"h2","workers":"2"}]}
//   {"ends":0,"why":"rank 2 on host h2 (pid 71) exited with code 3"}
//   {"begins":1,"members":[…]}
//   {"host":"h2","lost":1,"why":"the agent is gone"}
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <paceline/status.h>

namespace paceline::launcher {

struct HostMembers {
  std::string host;
  std::vector<std::uint32_t> workers;  ///< ranks, ascending

  bool operator==(const HostMembers&) const = default;
};

struct EpochBegins {
  std::uint32_t epoch = 0;
  std::vector<HostMembers> members;

  bool operator==(const EpochBegins&) const = default;
};

/// Its ranks end, or have ended.
struct EpochEnds {
  std::uint32_t epoch = 0;
  std::string why;

  bool operator==(const EpochEnds&) const = default;
};

struct HostLost {
  std::uint32_t epoch = 0;
  std::string host;
  std::string why;

  bool operator==(const HostLost&) const = default;
};

using MembershipEntry = std::variant<EpochBegins, EpochEnds, HostLost>;

/// The state after some entries. A value.
class Membership {
 public:
  /// Code::kInvalidArgument for an entry that cannot follow those before.
  Status apply(const MembershipEntry& entry);

  /// The last epoch; none before the first.
  const std::optional<EpochBegins>& last() const { return last_; }
  bool is_running() const { return last_ && !ended_; }
  std::uint32_t next_epoch() const { return last_ ? last_->epoch + 1 : 0; }

 private:
  Status add(const EpochBegins& begins);
  Status add(const EpochEnds& ends);
  Status add(const HostLost& lost) const;

  std::optional<EpochBegins> last_;
  bool ended_ = false;
};

/// A log belongs to a job, and another run of the same job may go on with it.
struct MembershipJob {
  std::string command;
  int ranks = 0;
};

/// Lines of the log, with their newlines.
std::string membership_header(const MembershipJob& job);
std::string membership_line(const MembershipEntry& entry);

struct MembershipLog {
  Membership members;
  std::size_t whole_bytes = 0;  ///< without the last line, if that was cut off
};

/// An empty text is the log of a job that has not begun. Errors say what is wrong in which line.
Result<MembershipLog> parse_membership_log(std::string_view text, const MembershipJob& job);

}  // namespace paceline::launcher
