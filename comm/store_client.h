// A rank's connection to the rendezvous store.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <paceline/status.h>

#include "comm/handshake.h"
#include "comm/poll_engine.h"
#include "comm/socket.h"
#include "comm/store_wire.h"

namespace paceline {

/// One thread at a time. Waits go through the engine; an idle client costs it no system call.
class StoreClient final : private Driver, private FdHandler {
 public:
  /// Connects, retrying until `deadline` while nobody listens there yet or the server is crowded.
  /// Over TCP it proves `key`, which is borrowed for the time of the call; over a Unix socket it
  /// needs none.
  static Result<std::unique_ptr<StoreClient>> connect(const std::shared_ptr<PollEngine>& engine,
                                                      const SocketAddress& address,
                                                      const JobKey* key, Deadline deadline);
  ~StoreClient() override;
  StoreClient(const StoreClient&) = delete;
  StoreClient& operator=(const StoreClient&) = delete;

  /// The key belongs to this client, and is erased when the client is destroyed. If another client
  /// sets it, that call fails with Code::kMismatch. So do get() and await() of both clients that
  /// wait at that time for keys of the same folder (the key up to its last '/').
  Status set(std::string key, std::string value, Deadline deadline);
  /// After such an error, until the next set(): what the other client has set, or would set.
  const std::optional<std::string>& rival() const { return rival_; }
  /// Waits while the engine goes on.
  void pause(Duration time);
  /// Waits for all `keys`; those that have not come by `deadline` are absent from the answer.
  Result<std::vector<std::optional<std::string>>> get(std::span<const std::string> keys,
                                                      Deadline deadline);

  /// Like get(), for values of other ranks. Code::kPeerLost names a rank that has not set its value
  /// and has ended, as the launcher that serves the store knows.
  Result<std::vector<std::optional<std::string>>> await(std::span<const Awaited> values,
                                                        Deadline deadline);
  /// set(), then await(). Each client that takes part may go when it has its answers.
  Result<std::vector<std::optional<std::string>>> exchange(std::string key, std::string value,
                                                           std::span<const Awaited> values,
                                                           Deadline deadline);
  /// Call it if ranks have other numbers than the launcher gave them. What the launcher says of
  /// ended ranks is then ignored.
  void ignore_ended_ranks() { hears_of_ends_ = false; }
  /// Called by await() each time `every` has passed. `missing`: the ranks that it still waits for,
  /// ascending.
  using WaitReport = std::function<void(std::span<const int> missing, Duration waited)>;
  void report_waits(Duration every, WaitReport report);

  /// A get() that waits for nothing, for drivers: with the baton held. Nothing is asked where the
  /// store has gone away or does not read. Of more than kMaxQuestions the oldest are forgotten.
  std::optional<std::uint32_t> ask(std::string key);
  /// The answer, which can be taken once; empty where the store refuses. Nullopt: it may still
  /// come. An error: it never will, as the question has been forgotten or the store has gone.
  Result<std::optional<std::string>> answer(std::uint32_t id);
  static constexpr std::size_t kMaxQuestions = 64;

 private:
  StoreClient(std::shared_ptr<PollEngine> engine, SocketAddress address, UniqueFd fd);
  Status not_in_time(const char* what) const;
  Status open(const JobKey* key, Deadline deadline);
  Status prove(const JobKey& key, Deadline deadline);
  Result<Bytes> await_bytes(std::size_t count, Deadline deadline, Code if_hung_up);
  using Values = std::vector<std::optional<std::string>>;
  Result<std::vector<std::uint32_t>> begin_all(std::span<const StoreFrame> questions);
  Result<Values> get_all(std::span<const StoreFrame> questions, Deadline deadline);
  Result<Values> answers_to(std::span<const std::uint32_t> ids,
                            std::span<const StoreFrame> questions, Deadline deadline);
  bool is_decided(std::span<const std::uint32_t> ids) const;
  void wait_for(std::span<const std::uint32_t> ids, std::span<const StoreFrame> questions,
                Deadline deadline);
  std::vector<int> missing(std::span<const std::uint32_t> ids,
                           std::span<const StoreFrame> questions);
  Status taken(const StoreFrame& answer);
  std::uint32_t request(StoreFrame frame);
  std::uint32_t begin(StoreFrame frame);
  bool drive(TimePoint now) override;
  bool on_ready(std::uint32_t events) override;
  std::size_t room() const;
  void read_some();
  void write_some();
  void take_answers();

  const std::shared_ptr<PollEngine> engine_;  // owners: see Work
  const SocketAddress address_;
  const UniqueFd fd_;
  bool connected_ = false;
  bool proven_ = false;  // what comes in are frames
  // As far as the engine has told: the socket has not said since that it would block.
  bool readable_ = false;
  bool writable_ = false;
  Status broken_;
  Bytes incoming_;
  Bytes outgoing_;
  std::uint32_t next_id_ = 0;
  std::unordered_map<std::uint32_t, std::optional<StoreFrame>> requests_;  // with their answers
  bool some_ended_ = false;  // an answer said that a value will not come
  std::optional<std::string> rival_;
  std::deque<std::uint32_t> questions_;  // requests of ask(), the oldest first
  bool hears_of_ends_ = true;
  Duration report_every_ = Duration::max();
  WaitReport report_;
};

}  // namespace paceline
