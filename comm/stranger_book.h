// Who knocked at a door and was refused: all are counted, and each is logged once.
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
/// One thread at a time writes; any thread may read the count.
class StrangerBook {
 public:
  static constexpr std::size_t kMaxRemembered = 256;

  /// Reasons that every door has, in the same words.
  static constexpr std::string_view kHungUp =
      "it closed the connection before it proved the job's key";
  static constexpr std::string_view kTooLate = "it did not prove the job's key in time";
  static constexpr std::string_view kGaveWay =
      "it did not prove the job's key before newer connections needed its place";

  /// `door` says what was knocked at: "store at 10.0.0.1:4000". Without a log it only counts.
  explicit StrangerBook(std::shared_ptr<Log> log, std::string door);

  /// `address` as SocketAddress::to_string() writes it. A stranger that comes again from another
  /// port is the same one. `why` ends the sentence "refused …: ".
  void refused(const std::string& address, std::string_view why);
  std::uint64_t count() const { return count_.load(std::memory_order_acquire); }

 private:
  void log_once(const std::string& address, std::string_view why);

  const std::shared_ptr<Log> log_;  // owners: every door of the process and whoever made it
  const std::string door_;
  std::atomic<std::uint64_t> count_{0};
  std::set<std::pair<std::string, std::string>> seen_;  // host and reason
};

}  // namespace paceline
