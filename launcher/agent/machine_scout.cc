#include "launcher/agent/machine_scout.h"

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/channel/machine_text.h"
#include "launcher/system/system.h"
#include "topology/read/live.h"

namespace paceline::launcher {
namespace {

// The answer is deflated, and a machine's description at most 16 MiB.
constexpr std::size_t kMostBytes = std::size_t{4} << 20;

messages::Described describe_this_machine() {
  messages::Described described;
  const Result<topology::HostModel> host = topology::read_this_machine();
  if (!host.ok()) {
    described.set_failure(host.status().text());
    return described;
  }
  PackedMachine packed = pack_machine(*host);
  described.set_digest(packed.digest);
  described.set_machine(std::move(packed.bytes));
  return described;
}

messages::Described failed(const std::string& why) {
  messages::Described described;
  described.set_failure(why);
  return described;
}

}  // namespace

Result<std::unique_ptr<MachineScout>> MachineScout::send(FunctionRef<void()> leave) {
  const pid_t agent = ::getpid();
  PACELINE_TRY_ASSIGN(auto process, ChildProcess::fork([&leave, agent](UniqueFd socket) {
                        die_with(agent);
                        leave();
                        replace_by_null(STDIN_FILENO);
                        replace_by_null(STDOUT_FILENO);
                        // An error says that the agent has gone.
                        [[maybe_unused]] const bool told =
                            write_all(socket.get(), describe_this_machine().SerializeAsString());
                      }));
  return std::unique_ptr<MachineScout>(new MachineScout(std::move(process)));
}

MachineScout::~MachineScout() {
  stop_waiting();
  kill();
}

// Its number may be somebody else's once it has been reaped.
void MachineScout::kill() {
  if (!process_->wait(std::chrono::milliseconds(0))) ::kill(process_->pid(), SIGKILL);
}

void MachineScout::await(EventLoop& loop, std::function<void(messages::Described)> back) {
  if (!socket_ || loop_ != nullptr) return;
  loop_ = &loop;
  back_ = std::move(back);
  loop.when_readable(socket_.get(), [this] { read_more(); });
  patience_ = loop.after(kPatience, [this] {
    kill();
    end(failed("the hardware of this host could not be read within " + seconds_text(kPatience) +
               ": a driver does not answer"));
  });
}

void MachineScout::read_more() {
  std::array<char, 65536> part;
  const ssize_t got = ::read(socket_.get(), part.data(), part.size());
  if (got < 0 && errno == EINTR) return;
  if (got > 0) bytes_.append(part.data(), static_cast<std::size_t>(got));
  if (got > 0 && bytes_.size() <= kMostBytes) return;
  messages::Described described;
  const bool is_whole = got == 0 && !bytes_.empty() && described.ParseFromString(bytes_);
  end(is_whole ? std::move(described)
               : failed("the process that reads the hardware of this host has crashed"));
}

void MachineScout::end(messages::Described described) {
  stop_waiting();
  socket_.reset();
  std::exchange(back_, nullptr)(std::move(described));
}

void MachineScout::stop_waiting() {
  if (loop_ == nullptr) return;
  loop_->forget_readable(socket_.get());
  loop_->cancel(patience_);
  loop_ = nullptr;
}

}  // namespace paceline::launcher
