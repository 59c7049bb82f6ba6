#include "collectives/port.h"

#include <utility>

#include "comm/base/assert.h"
#include "comm/base/try.h"
#include "comm/host_interfaces.h"

namespace paceline {
namespace {

constexpr Duration kNapBesidePort = std::chrono::milliseconds(1);

}  // namespace

Result<TcpListener> listen_for_ranks(const Environment& environment) {
  PACELINE_TRY_ASSIGN(const std::string bind_address, bind_address_of(environment));
  return TcpListener::open(bind_address, environment.port_range);
}

Status open_port(Runtime& runtime, TcpListener listener) {
  PACELINE_ASSERT(runtime.key() != nullptr);
  PACELINE_TRY_ASSIGN(auto port,
                      TcpPort::open(runtime.engine(), std::move(listener), runtime.key()->copy(),
                                    {.name = "rank " + std::to_string(runtime.world().rank),
                                     .log = runtime.log(),
                                     .integrity = runtime.environment().integrity,
                                     .world = runtime.world()}));
  runtime.set_port(std::move(port));
  return {};
}

Result<std::string> address_of_port(Runtime& runtime) {
  const std::lock_guard lock(runtime.opening());
  if (runtime.port() == nullptr) {
    PACELINE_TRY_ASSIGN(TcpListener listener, listen_for_ranks(runtime.environment()));
    PACELINE_TRY(open_port(runtime, std::move(listener)));
    // Who shares memory with all sleeps at a bell that no connection rings.
    const Engine::Baton baton = runtime.engine()->hold();
    runtime.engine()->nap_at_most(kNapBesidePort);
  }
  return runtime.port()->address();
}

}  // namespace paceline
