// Where the processes of a runtime listen for those that they share no memory with.
#pragma once

#include <string>

#include <paceline/status.h>

#include "comm/runtime.h"
#include "comm/transport/tcp_port.h"

namespace paceline {

/// On the address and the ports that the environment says.
Result<TcpListener> listen_for_ranks(const Environment& environment);
/// From now on the runtime has a port.
Status open_port(Runtime& runtime, TcpListener listener);

/// The address of its port, which is opened if it has none yet.
Result<std::string> address_of_port(Runtime& runtime);

}  // namespace paceline
