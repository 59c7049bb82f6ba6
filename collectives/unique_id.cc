#include "collectives/unique_id.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "comm/base/environment.h"
#include "comm/base/process_mark.h"
#include "comm/base/try.h"
#include "comm/host_interfaces.h"
#include "telemetry/log.h"

namespace paceline {
namespace {

// Magic, key, and the address as text with a zero behind it.
constexpr std::string_view kMagic = "PLmeet01";
constexpr std::size_t kKeyAt = kMagic.size();
constexpr std::size_t kAddressAt = kKeyAt + JobKey::kBytes;
static_assert(kAddressAt + sizeof "[0000:0000:0000:0000:0000:0000:0000:0000]:65535" <=
              UniqueId::kBytes);

// Servers of this process whose ids no rank of this process has used yet.
struct Servers {
  const ProcessMark made_in;
  std::mutex mutex;  // guards what follows
  std::map<std::array<std::byte, UniqueId::kBytes>, std::unique_ptr<StoreServer>> by_id;
};
// The servers of this process. They are never destroyed: forked children share the descriptors of
// the servers, and a child that exits would stop its parent's servers. A child does not use its
// parent's servers, either: it does not have their threads, and the mutex may be locked by a thread
// that the child does not have.
Servers& servers() {
  static constinit std::atomic<Servers*> all{nullptr};
  Servers* known = all.load();
  if (known != nullptr && known->made_in.is_of_this_process()) return *known;
  auto own = std::make_unique<Servers>();
  return all.compare_exchange_strong(known, own.get()) ? *own.release() : *known;
}

}  // namespace

Result<UniqueId> make_unique_id() {
  PACELINE_TRY_ASSIGN(const Environment environment, read_environment());
  PACELINE_TRY_ASSIGN(const std::string bind_address, bind_address_of(environment));
  PACELINE_TRY_ASSIGN(const SocketAddress address, SocketAddress::resolve(bind_address, 0));
  PACELINE_TRY_ASSIGN(JobKey key, JobKey::generate());
  UniqueId id;
  std::memcpy(id.bytes.data(), kMagic.data(), kMagic.size());
  key.copy_to(std::span(id.bytes).subspan<kKeyAt, JobKey::kBytes>());
  PACELINE_TRY_ASSIGN(
      auto server, StoreServer::serve_tcp(address, std::make_unique<JobKey>(std::move(key)),
                                          {.log = make_stderr_log({.level = environment.log_level}),
                                           .ports = environment.port_range}));
  const std::string where = server->address().to_string();
  std::memcpy(id.bytes.data() + kAddressAt, where.c_str(), where.size() + 1);
  const std::lock_guard lock(servers().mutex);
  servers().by_id.emplace(id.bytes, std::move(server));
  return id;
}

Result<MeetingPlace> read_unique_id(const UniqueId& id) {
  const auto* const text = reinterpret_cast<const char*>(id.bytes.data());
  const auto* const end = std::find(text + kAddressAt, text + UniqueId::kBytes, '\0');
  if (!std::equal(kMagic.begin(), kMagic.end(), text) || end == text + UniqueId::kBytes) {
    return Status(Code::kInvalidArgument, Scope::kNone,
                  "this is not a unique id of this version of Paceline");
  }
  PACELINE_TRY_ASSIGN(const SocketAddress address,
                      SocketAddress::parse(std::string_view(text + kAddressAt, end)));
  return MeetingPlace{
      .address = address,
      .key = JobKey::from_bytes(std::span(id.bytes).subspan<kKeyAt, JobKey::kBytes>())};
}

std::unique_ptr<StoreServer> take_server_of(const UniqueId& id) {
  const std::lock_guard lock(servers().mutex);
  const auto found = servers().by_id.find(id.bytes);
  if (found == servers().by_id.end()) return nullptr;
  std::unique_ptr<StoreServer> server = std::move(found->second);
  servers().by_id.erase(found);
  return server;
}

}  // namespace paceline
