#include "launcher/agent/meeting.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "comm/base/try.h"
#include "launcher/system/host.h"

namespace paceline::launcher {

Result<OpenMeeting> open_meeting(const messages::Start& start, JobKey key,
                                 const StoreServerOptions& options) {
  OpenMeeting open;
  if (start.address().empty()) {
    const std::string name = "@paceline-" + start.job_id();
    PACELINE_TRY_ASSIGN(open.store, StoreServer::serve_unix(name, options));
    open.meeting.set_store("unix:" + name);
    open.meeting.set_master_address("127.0.0.1");
  } else {
    PACELINE_TRY_ASSIGN(const SocketAddress address, SocketAddress::resolve(start.address(), 0));
    PACELINE_TRY_ASSIGN(
        open.store,
        StoreServer::serve_tcp(address, std::make_unique<JobKey>(std::move(key)), options));
    open.meeting.set_store("tcp:" + open.store->address().to_string());
    open.meeting.set_master_address(start.address());
  }
  PACELINE_TRY_ASSIGN(const int port, free_port(open.meeting.master_address()));
  open.meeting.set_master_port(static_cast<std::uint32_t>(port));
  return open;
}

Result<JobKey> job_key_of(const messages::Start& start) {
  std::array<std::byte, JobKey::kBytes> bytes;
  if (start.job_key().size() != bytes.size())
    return Status(Code::kInternal, Scope::kOperation, "the head sent no key of the job");
  std::memcpy(bytes.data(), start.job_key().data(), bytes.size());
  return JobKey::from_bytes(bytes);
}

}  // namespace paceline::launcher
