#include "launcher/system/system.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "comm/base/try.h"

namespace paceline::launcher {

Status system_error(std::string_view what) {
  const char* why = std::strerror(errno);
  return Status(Code::kExhausted, Scope::kProcess, "cannot " + std::string(what) + ": " + why);
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("make a pipe");
  return Pipe{.read_end = UniqueFd(ends[0]), .write_end = UniqueFd(ends[1])};
}

Result<std::pair<UniqueFd, UniqueFd>> make_socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error("make a socket pair");
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

Result<UniqueFd> duplicate(int fd) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) return system_error("copy a descriptor");
  return copy;
}

UniqueFd open_pidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

Result<UniqueFd> open_null() {
  UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return system_error("open /dev/null");
  return null;
}

Result<std::string> path_of_this_program() {
  std::error_code unreadable;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", unreadable);
  if (!unreadable) return program.string();
  return Status(Code::kUnavailable, Scope::kProcess,
                "cannot find the path of paceline: " + unreadable.message());
}

Result<std::string> folder_of_programs() {
  PACELINE_TRY_ASSIGN(const std::string program, path_of_this_program());
  return std::filesystem::path(program).parent_path().string();
}

void replace_by_null(int fd) {
  if (const Result<UniqueFd> null = open_null(); null.ok()) ::dup2(null->get(), fd);
}

rlimit raise_descriptor_limit() {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) != 0) return before;
  const rlimit raised{.rlim_cur = before.rlim_max, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &raised);
  return before;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

Status print_out(const std::string& text) {
  const bool is_there = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  return is_there ? Status() : system_error("write to standard output");
}

void report(std::string_view process, const Status& status) {
  const std::string line = "paceline: " + std::string(process) + ": " + status.to_string() + "\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace paceline::launcher
