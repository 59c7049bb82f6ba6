// A rank that compares what its TCP connections sent with what the plans of its operations send:
// counted_rank COUNT…
//
// Each algorithm of the table runs alone, by PACELINE_ALGORITHM, with each count. The kernel says
// what a connection sent (TCP_INFO: bytes sent - bytes sent again). That is exactly the payload of
// this rank's plan, as far as it goes to ranks that are reached by TCP, framing(), and a few frames
// of credit. The maximum over the plans of all ranks is the algorithm's cost(). At the end each
// rank prints
//   OPERATIONS PAYLOAD FRAMING
// in bytes; a rank that finds a difference ends with exit code 1. An operation is repeated if a
// rank waited so long that it sent control messages, too.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <paceline/communicator.h>

#include "collectives/algo/algorithms.h"
#include "comm/base/clock.h"
#include "comm/base/environment.h"
#include "comm/base/try.h"
#include "comm/handshake.h"
#include "comm/host_map.h"
#include "comm/socket.h"
#include "comm/transport/lane.h"
#include "comm/wire.h"
#include "tests/harness/calls.h"
#include "tests/harness/plan_form.h"

namespace paceline::testing {
namespace {

constexpr std::size_t kElementBytes = sizeof(float);
constexpr std::size_t kSegmentBytes = 256 * 1024;
constexpr Duration kDrainTime = std::chrono::seconds(20);
constexpr int kTries = 5;

Status wrong(const std::string& what) { return {Code::kInternal, Scope::kProcess, what}; }

/// The bytes beside the payload of messages of these lengths (comm/transport/tcp.h).
std::uint64_t framing(std::span<const std::size_t> payload_bytes) {
  std::uint64_t bytes = 0;
  for (const std::size_t payload : payload_bytes) {
    const std::size_t pieces = (kHeaderBytes + payload + kMaxPieceBytes - 1) / kMaxPieceBytes;
    bytes += kHeaderBytes + pieces * kFrameHeaderBytes;
  }
  return bytes;
}

/// May a rank have sent so many bytes of frames that give credit back, after messages of `received`
/// bytes from each peer? When the last ones leave depends on what it received before.
bool are_credits(std::uint64_t bytes, std::span<const std::size_t> received) {
  std::uint64_t most = 0;
  for (const std::size_t from_peer : received)
    most += from_peer > 0 ? from_peer / Lane::kCreditBytes + 1 : 0;
  return bytes % kFrameHeaderBytes == 0 && bytes / kFrameHeaderBytes <= most;
}

/// What this process has sent to other ranks by TCP.
struct Sent {
  std::uint64_t bytes = 0;
  std::uint64_t of_handshakes = 0;  ///< part of them
  bool arrived = true;              ///< all of it
};

// Connections to other processes, such as the store's, do not count.
Result<Sent> sent_to(const Group& group) {
  Sent all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::atoi(entry.path().filename().c_str());
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) continue;
    const Result<SocketAddress> remote = SocketAddress::of_remote_end(fd);
    if (!remote.ok()) continue;  // it listens
    PACELINE_TRY_ASSIGN(const SocketAddress local, SocketAddress::of_local_end(fd));
    const bool accepted = local.to_string() == group.self().address;
    const bool dialed = std::ranges::any_of(
        group.members, [&](const Member& member) { return member.address == remote->to_string(); });
    if (!accepted && !dialed) continue;
    int left = 0;
    if (::ioctl(fd, SIOCOUTQ, &left) != 0) return wrong("SIOCOUTQ is refused");
    all.arrived = all.arrived && left == 0;
    all.bytes += info.tcpi_bytes_sent - info.tcpi_bytes_retrans;
    all.of_handshakes += accepted ? kChallengeBytes + kWelcomeBytes : kHelloBytes;
  }
  return all;
}

// Once everything has been acknowledged.
Result<Sent> all_sent_to(const Group& group) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, kDrainTime);
  while (true) {
    PACELINE_TRY_ASSIGN(const Sent sent, sent_to(group));
    if (sent.arrived) return sent;
    if (deadline.passed(clock.now())) return wrong("what was sent is not acknowledged");
    ::poll(nullptr, 0, 1);
  }
}

/// Which ranks share memory: no others reach each other by TCP.
Result<HostMap> hosts_of(const Group& group) {
  PACELINE_TRY_ASSIGN(const Environment environment, read_environment());
  if (environment.backend == BackendChoice::kTcp) return HostMap::apart(group.size());
  std::vector<std::string> names;
  for (const Member& member : group.members) names.push_back(member.host);
  return HostMap::of(names);
}

/// One algorithm with one count.
struct Case {
  const Algorithm& algorithm;
  std::size_t count = 0;

  Call call(int ranks) const {
    return {.kind = algorithm.kind,
            .count = has_elements(algorithm.kind) ? count : 0,
            .root = has_root(algorithm.kind) ? ranks - 1 : 0};
  }
  std::string text() const {
    return std::string(name(algorithm.kind)) + " by " + std::string(algorithm.name) + ", " +
           std::to_string(count) + " elements";
  }
};

std::vector<Plan> plans_of(const Case& one, const HostMap& hosts, std::vector<PlanRequest>& all) {
  const auto ranks = static_cast<int>(hosts.host.size());
  const Call call = one.call(ranks);
  all = uneven_requests({.kind = call.kind,
                         .ranks = ranks,
                         .root = call.root,
                         .count = call.count,
                         .segment_count = kSegmentBytes / kElementBytes});
  for (PlanRequest& request : all) request.hosts = &hosts.host;
  return plans_of(one.algorithm, all);
}

class CountedRank {
 public:
  explicit CountedRank(std::vector<std::size_t> counts) : counts_(std::move(counts)) {}

  Status run_by(std::string_view algorithm);
  void print() const {
    std::printf("%zu %zu %zu\n", operations_, static_cast<std::size_t>(payload_),
                static_cast<std::size_t>(framing_));
  }

 private:
  Result<Communicator> connect();
  Status run(Communicator& world, const Case& one);
  Result<bool> is_exact(Communicator& world, const Case& one, const Sent& before, bool joins);

  const std::vector<std::size_t> counts_;
  std::size_t operations_ = 0;
  std::uint64_t payload_ = 0;
  std::uint64_t framing_ = 0;  // with handshakes
  std::string difference_;     // the last one
};

// Runs it and compares what this rank has sent since `before` with its plan. False on all ranks if
// any has sent more: it waited so long that it asked others where they are (failure/inquest.h).
// `joins`: with it the world begins to use its connections.
Result<bool> CountedRank::is_exact(Communicator& world, const Case& one, const Sent& before,
                                   bool joins) {
  PACELINE_TRY_ASSIGN(const HostMap hosts, hosts_of(world.group()));
  std::vector<PlanRequest> requests;
  const std::vector<Plan> plans = plans_of(one, hosts, requests);
  const auto own = static_cast<std::size_t>(world.rank());
  PACELINE_TRY_ASSIGN(const Cost measured, measure(plans, requests[own].hosts));
  if (!is_price(one.algorithm.cost(requests[own]), measured, one.algorithm.kind))
    return wrong(one.text() + ": the plans do not cost what the formula says");
  std::vector<std::size_t> messages;
  std::vector<std::size_t> received(plans.size());
  for (const Step& step : plans[own].steps) {
    if (step.peer < 0 || hosts.host[own] == requests[own].host_of(step.peer)) continue;
    const std::size_t bytes = step.count * kElementBytes;
    if (step.kind == StepKind::kSend) messages.push_back(bytes);
    if (step.kind == StepKind::kRecv)
      received[static_cast<std::size_t>(step.peer)] += kHeaderBytes + bytes;
  }
  std::uint64_t payload = 0;
  for (const std::size_t bytes : messages) payload += bytes;

  PACELINE_TRY_ASSIGN(const Sent after, all_sent_to(world.group()));
  const std::uint64_t handshakes = after.of_handshakes - before.of_handshakes;
  const std::uint64_t sent = after.bytes - before.bytes;
  const std::size_t far = hosts.host.size() - hosts.beside(world.rank()).size();
  const std::uint64_t joining = joins ? far * kFrameHeaderBytes : 0;
  const std::uint64_t stated = payload + framing(messages) + handshakes + joining;
  difference_ = one.text() + ": " + std::to_string(sent) + " bytes were sent; the plan has " +
                std::to_string(payload) + " in " + std::to_string(messages.size()) +
                " messages, and framing is " + std::to_string(framing(messages)) +
                ", and handshakes " + std::to_string(handshakes);
  if (sent < stated) return wrong(difference_);
  int surplus = are_credits(sent - stated, received) ? 0 : 1;
  PACELINE_TRY(world.all_reduce(std::span(&surplus, 1), ReduceOp::kMax));
  if (surplus != 0) return false;
  ++operations_;
  payload_ += payload;
  framing_ += sent - payload;
  return true;
}

// The first exchange of all with all makes every connection, so that its handshakes are counted.
Result<Communicator> CountedRank::connect() {
  const auto row = std::ranges::find(algorithms(), OperationKind::kAllToAll, &Algorithm::kind);
  const Case first{*row, 1};
  for (int i = 0; i < kTries; ++i) {
    PACELINE_TRY_ASSIGN(Communicator world, Communicator::init());
    MadeCall call(first.call(world.size()), operations_, world.rank(), world.size());
    PACELINE_TRY(call.check(world).with_context(first.text()));
    PACELINE_TRY_ASSIGN(const bool exact, is_exact(world, first, {}, true));
    if (exact) return world;
    PACELINE_TRY(world.close());
  }
  return wrong(difference_);
}

Status CountedRank::run(Communicator& world, const Case& one) {
  for (int i = 0; i < kTries; ++i) {
    MadeCall call(one.call(world.size()), operations_, world.rank(), world.size());
    PACELINE_TRY(world.barrier());  // the others wait for no rank that prepares its input
    PACELINE_TRY_ASSIGN(const Sent before, all_sent_to(world.group()));
    PACELINE_TRY(call.check(world).with_context(one.text()));
    PACELINE_TRY_ASSIGN(const bool exact, is_exact(world, one, before, false));
    if (exact) return {};
  }
  return wrong(difference_);
}

Status CountedRank::run_by(std::string_view algorithm) {
  ::setenv("PACELINE_ALGORITHM", std::string(algorithm).c_str(), 1);
  PACELINE_TRY_ASSIGN(Communicator world, connect());
  for (const Algorithm& row : algorithms())
    for (const std::size_t count : counts_)
      if (row.name == algorithm) PACELINE_TRY(run(world, {row, count}));
  return world.close();
}

Status run_all(CountedRank& rank) {
  ::setenv("PACELINE_SEGMENT_BYTES", std::to_string(kSegmentBytes).c_str(), 1);
  std::set<std::string_view> names;
  for (const Algorithm& row : algorithms()) names.insert(row.name);
  for (const std::string_view name : names) PACELINE_TRY(rank.run_by(name));
  rank.print();
  return {};
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  std::vector<std::size_t> counts;
  for (int i = 1; i < argc; ++i) counts.push_back(std::strtoull(argv[i], nullptr, 10));
  paceline::testing::CountedRank rank(std::move(counts));
  const paceline::Status status = run_all(rank);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
