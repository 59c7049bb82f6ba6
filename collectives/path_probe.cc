#include "collectives/path_probe.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#include "collectives/group_members.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

constexpr int kWarmUps = 4;  // the first makes the connections
constexpr int kShortRounds = 16;
constexpr std::size_t kShortBytes = 4;
constexpr int kLongRounds = 3;
constexpr std::size_t kLongBytes = std::size_t{512} << 10;
constexpr double kPicoseconds = 1000;  // in a nanosecond

// A ring of one rank of each host.
class Ring final : private RequestListener {
 public:
  /// All arguments are borrowed. The ring drives the transport while it lives.
  Ring(Transport& transport, Engine& engine, const HostMap& hosts, Deadline deadline)
      : transport_(transport), engine_(engine), deadline_(deadline) {
    const int rank = transport.group().rank;
    const int host = hosts.host[static_cast<std::size_t>(rank)];
    const auto leader = [&](int of) {
      return hosts.processes[static_cast<std::size_t>((of + hosts.hosts()) % hosts.hosts())]
          .front();
    };
    asks_.peer = answered_.peer = leader(host + 1);
    asked_.peer = answers_.peer = leader(host - 1);
    const Engine::Baton baton = engine_.hold();
    engine_.attach(transport_);
  }
  ~Ring() {
    const Engine::Baton baton = engine_.hold();
    engine_.detach(transport_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// Sends so many bytes to the next rank, which answers at once, and answers to the rank before.
  /// Returns the time until the answer came.
  Result<Duration> round(std::size_t bytes) {
    outgoing_.resize(bytes);
    incoming_.resize(bytes);
    const TimePoint begin = engine_.clock().now();
    {
      // With two hosts both come from one rank: its message, then its answer.
      const Engine::Baton baton = engine_.hold();
      transport_.receive(asked_.peer, incoming_, asked_.request);
      transport_.receive(answered_.peer, answer_, answered_.request);
      transport_.send(asks_.peer, {}, outgoing_, asks_.request);
    }
    PACELINE_TRY(await({&asked_}));
    {
      const Engine::Baton baton = engine_.hold();
      transport_.send(answers_.peer, {}, answer_to_send_, answers_.request);
    }
    PACELINE_TRY(await({&answered_, &asks_, &answers_}));
    return answered_at_ - begin;
  }

 private:
  struct One {
    explicit One(RequestListener* listener) : request{.listener = listener} {}
    Request request;
    int peer = -1;
    bool ended = false;
  };

  Status await(std::initializer_list<One*> all) {
    const auto have_ended = [&] {
      return std::ranges::all_of(all, [](const One* one) { return one->ended; });
    };
    if (!engine_.wait(have_ended, deadline_)) return give_up(timeout_error(all));
    for (One* const one : all) {
      if (!one->request.status.ok()) return give_up(one->request.status);
      one->ended = false;
    }
    return {};
  }

  void ended(Request& request) override {
    for (One* const one : {&asked_, &asks_, &answered_, &answers_})
      if (&one->request == &request) one->ended = true;
    if (&request == &answered_.request) answered_at_ = engine_.clock().now();
  }

  Status timeout_error(std::initializer_list<One*> all) const {
    const One& late = **std::ranges::find_if(all, [](const One* one) { return !one->ended; });
    const Group& group = transport_.group();
    return Status(Code::kTimeout, Scope::kGroup,
                  "measuring the path between hosts did not end in time: " +
                      rank_text(group, late.peer) + " did not answer",
                  culprit_of(group, late.peer));
  }

  // The requests are members of this ring, so none may stay pending.
  Status give_up(Status why) {
    const Engine::Baton baton = engine_.hold();
    transport_.abort(why);
    return why;
  }

  Transport& transport_;
  Engine& engine_;
  const Deadline deadline_;
  Bytes outgoing_, incoming_;
  Bytes answer_ = Bytes(kShortBytes), answer_to_send_ = Bytes(kShortBytes);
  One asks_{this}, answered_{this};  // this rank
  One asked_{this}, answers_{this};  // the rank before
  TimePoint answered_at_{};
};

double nanoseconds(Duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

Result<PathModel> measure(Ring& ring) {
  for (int i = 0; i < kWarmUps; ++i) PACELINE_TRY(ring.round(kShortBytes).status());
  std::vector<Duration> rounds;
  for (int i = 0; i < kShortRounds; ++i) {
    PACELINE_TRY_ASSIGN(const Duration took, ring.round(kShortBytes));
    rounds.push_back(took);
  }
  std::ranges::nth_element(rounds, rounds.begin() + kShortRounds / 2);
  const double there_and_back_ns = nanoseconds(rounds[kShortRounds / 2]);
  Duration least = Duration::max();
  for (int i = 0; i < kLongRounds; ++i) {
    PACELINE_TRY_ASSIGN(const Duration took, ring.round(kLongBytes));
    least = std::min(least, took);
  }
  const double longer_ns = std::max(0.0, nanoseconds(least) - there_and_back_ns);
  return PathModel{.alpha_ns = there_and_back_ns / 2, .beta_ns_per_byte = longer_ns / kLongBytes};
}

// Whole numbers, because a program's locale changes how fractions are written.
std::string encoded(const PathModel& path) {
  return std::to_string(std::llround(path.alpha_ns)) + " " +
         std::to_string(std::llround(path.beta_ns_per_byte * kPicoseconds));
}

PathModel decoded(const std::string& text) {
  std::istringstream words(text);
  std::int64_t alpha_ns = 0, beta_ps_per_byte = 0;
  words >> alpha_ns >> beta_ps_per_byte;
  return {.alpha_ns = static_cast<double>(alpha_ns),
          .beta_ns_per_byte = static_cast<double>(beta_ps_per_byte) / kPicoseconds};
}

}  // namespace

Result<PathModel> measure_between_hosts(Transport& transport, Engine& engine, const HostMap& hosts,
                                        Exchange& exchange, Deadline deadline) {
  const int rank = transport.group().rank;
  Result<PathModel> own = PathModel();
  if (hosts.beside(rank).front() == rank) {
    Ring ring(transport, engine, hosts, deadline);
    own = measure(ring);
  }
  PACELINE_TRY(own.status());
  PACELINE_TRY_ASSIGN(const auto texts,
                      exchange.all({.key = "path", .task = "measured the path between hosts"},
                                   encoded(*own), deadline));
  PathModel slowest;
  for (const std::string& text : texts) {
    const PathModel one = decoded(text);
    slowest.alpha_ns = std::max(slowest.alpha_ns, one.alpha_ns);
    slowest.beta_ns_per_byte = std::max(slowest.beta_ns_per_byte, one.beta_ns_per_byte);
  }
  return slowest;
}

std::string to_text(const PathModel& path) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f us and %.3f ns a byte", path.alpha_ns / 1e3,
                path.beta_ns_per_byte);
  return text;
}

}  // namespace paceline
