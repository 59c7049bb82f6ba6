// The limit of an all-reduce between hosts in the loop of timed_loop.h: sockets alone. The k-th
// ranks of two hosts swap their share of the array: both ways at once, so each host sends and
// receives what a hierarchical all-reduce of 2 hosts must. With 4 hosts they swap twice, as
// recursive doubling does. Nothing is reduced. Hosts have equal numbers of ranks, h a power of 2.
//
// A pair has a connection for each direction: on one for both, full windows can end all traffic
// (comm/transport/tcp.h).
#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <paceline/communicator.h>

#include "comm/base/assert.h"
#include "comm/base/unique_fd.h"
#include "comm/host_map.h"
#include "comm/socket.h"
#include "tests/peers/timed_loop.h"

namespace paceline::peers {
namespace {

constexpr int kPatienceMs = 30'000;

void await(int fd, short events) {
  pollfd waited{.fd = fd, .events = events, .revents = 0};
  PACELINE_ASSERT(::poll(&waited, 1, kPatienceMs) > 0);
}

struct Pair {
  UniqueFd out, in;

  // Sends and receives as many bytes.
  void swap(std::span<std::byte> bytes) const {
    std::size_t sent = 0, received = 0;
    while (sent < bytes.size() || received < bytes.size()) {
      const bool moved =
          move(::send(out.get(), bytes.data() + sent, bytes.size() - sent, 0), sent) |
          move(::recv(in.get(), bytes.data() + received, bytes.size() - received, 0), received);
      if (moved) continue;
      pollfd waited[] = {{.fd = in.get(), .events = POLLIN, .revents = 0},
                         {.fd = out.get(), .events = POLLOUT, .revents = 0}};
      const nfds_t count = sent < bytes.size() ? 2 : 1;
      PACELINE_ASSERT(::poll(waited, count, kPatienceMs) > 0);
    }
  }

 private:
  static bool move(ssize_t result, std::size_t& done) {
    PACELINE_ASSERT(result >= 0 || errno == EAGAIN);
    if (result > 0) done += static_cast<std::size_t>(result);
    return result > 0;
  }
};

UniqueFd dial(const std::string& address) {
  const SocketAddress there = SocketAddress::parse(address).value();
  UniqueFd fd = start_connect(there).value();
  await(fd.get(), POLLOUT);
  connect_error(fd.get(), there).value();
  return fd;
}

// With one peer at a time, so the next connection is the peer's.
Pair meet(int listener, const std::string& address) {
  Pair pair{.out = dial(address), .in = {}};
  await(listener, POLLIN);
  pair.in = std::move(accept_from(listener).value());
  return pair;
}

// The pairs of this rank, in the order in which it swaps.
std::vector<Pair> connect_pairs(Communicator& world) {
  std::vector<std::string> names;
  for (const Member& member : world.group().members) names.push_back(member.host);
  const HostMap map = HostMap::of(names);
  const auto rank = static_cast<std::size_t>(world.rank());
  const auto place = static_cast<std::size_t>(map.place_of(world.rank()));
  const std::string own = without_port(world.group().self().address);
  const UniqueFd listener = listen_on(SocketAddress::parse(with_port(own, 0)).value()).value();
  const int port = SocketAddress::of_local_end(listener.get()).value().port();
  std::vector<int> ports(names.size());
  world.all_gather(std::span(&port, 1), ports).value();
  std::vector<Pair> pairs;
  for (int bit = 1; bit < map.hosts(); bit *= 2) {
    const auto host = static_cast<std::size_t>(map.host[rank] ^ bit);
    const auto peer = static_cast<std::size_t>(map.processes[host][place]);
    const std::string there = without_port(world.group().members[peer].address);
    pairs.push_back(meet(listener.get(), with_port(there, ports[peer])));
    world.barrier().value();
  }
  return pairs;
}

int run(int argc, char** argv) {
  Communicator world = Communicator::init().value();
  const std::vector<Pair> pairs = connect_pairs(world);
  const std::size_t of_host = static_cast<std::size_t>(world.size()) >> pairs.size();
  const auto barrier = [&world] { world.barrier().value(); };
  const auto swap = [&pairs, of_host](std::span<float> values) {
    const std::size_t share = std::max<std::size_t>(values.size() / of_host, 1);
    for (const Pair& pair : pairs) pair.swap(std::as_writable_bytes(values.first(share)));
  };
  const int code = time_all_reduces({.rank = world.rank(),
                                     .size = world.size(),
                                     .barrier = barrier,
                                     .all_reduce = swap,
                                     .reduces = false},
                                    argc, argv);
  world.close().value();
  return code;
}

}  // namespace
}  // namespace paceline::peers

int main(int argc, char** argv) { return paceline::peers::run(argc, argv); }
