#include "launcher/control/control_files.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "comm/base/read_file.h"
#include "comm/base/try.h"
#include "launcher/channel/remote_call.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr const char* kSocket = "control";
constexpr const char* kAddress = "control.address";
constexpr const char* kCertificate = "control.pem";
constexpr const char* kToken = "control.token";

}  // namespace

Result<ControlFolder> ControlFolder::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return system_error("open the job's entry " + path);
  return ControlFolder(std::move(fd));
}

std::string ControlFolder::path_of(const char* file) const {
  return "/proc/self/fd/" + std::to_string(fd_.get()) + "/" + file;
}

bool ControlFolder::has_socket() const { return ::faccessat(fd_.get(), kSocket, F_OK, 0) == 0; }

SocketAddress ControlFolder::socket() const {
  return SocketAddress::parse("unix:" + path_of(kSocket)).value();
}

Status ControlFolder::write(const Tcp& tcp) const {
  PACELINE_TRY(write(kCertificate, tcp.certificate));
  PACELINE_TRY(write(kToken, tcp.token));
  return write(kAddress, tcp.address);
}

Status ControlFolder::write(const char* file, const std::string& text) const {
  const UniqueFd made(
      ::openat(fd_.get(), file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!made) return system_error(std::string("make the file ") + file + " in the job's entry");
  const ssize_t written = ::write(made.get(), text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) return Status();
  if (written >= 0) errno = ENOSPC;
  return system_error(std::string("write the file ") + file + " in the job's entry");
}

std::string connect_text(const std::string& folder) {
  const std::string path = folder + "/";
  std::string text = "socket       unix:" + path + kSocket + "\n";
  const std::string address = read_file(path + kAddress);
  if (address.empty()) return text;
  return text + "address      " + address + "\n" + "certificate  " + path + kCertificate +
         " (for the name " + kHeadName + ")\n" + "token        " + path + kToken + "\n";
}

}  // namespace paceline::launcher
