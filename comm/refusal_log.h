// Peers that a listener has refused: all are counted, and each is logged once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace paceline {

class Log;

/// Bounded: beyond kMaxRemembered pairs of address and reason nothing more is logged, only counted.
/// One thread at a time writes. Any thread may read the count.
class RefusalLog {
 public:
  static constexpr std::size_t kMaxRemembered = 256;

  /// Reasons that every listener has, in the same words.
  static constexpr std::string_view kHungUp =
      "it closed the connection before it proved the job's key";
  static constexpr std::string_view kTooLate = "it did not authenticate in time";
  static constexpr std::string_view kGaveWay =
      "it did not authenticate before newer connections needed its place";

  /// `listener` is named in each line: "store at 10.0.0.1:4000". Without a log it only counts.
  RefusalLog(std::shared_ptr<Log> log, std::string listener);

  /// `peer` is an address as SocketAddress::to_string() writes it, or a user. A peer that connects
  /// again from another port counts as one peer. `why` ends the sentence "refused …: ".
  void refused(const std::string& peer, std::string_view why);
  /// accept() fails. Only the first time is logged.
  void cannot_accept(std::string_view why);
  std::uint64_t count() const { return count_.load(std::memory_order_acquire); }

 private:
  void log_once(const std::string& peer, std::string_view why);

  const std::shared_ptr<Log> log_;  // owners: all listeners of the process, and the log's maker
  const std::string listener_;
  std::atomic<std::uint64_t> count_{0};
  std::set<std::pair<std::string, std::string>> seen_;  // host and reason
  bool said_cannot_accept_ = false;
};

}  // namespace paceline
