#include "launcher/engines/launch_program.h"

#include <cerrno>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/system/descriptors.h"
#include "launcher/system/process.h"
#include "launcher/system/program_file.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kLongestLine = 4096;

// All that the child needs between fork and exec: the process may have threads, so it allocates
// nothing there.
struct Exec {
  const char* path;
  char* const* arguments;
  char* const* environment;
  int input;
  int output;
  int error;
  pid_t parent;
};

[[noreturn]] void become(const Exec& exec) {
  ::setsid();
  die_with(exec.parent);
  ::dup2(exec.input, STDIN_FILENO);
  ::dup2(exec.output, STDOUT_FILENO);
  ::dup2(exec.error, STDERR_FILENO);
  close_on_exec_from(STDERR_FILENO + 1);
  reset_signals();
  ::execve(exec.path, exec.arguments, exec.environment);
  ::_exit(errno == ENOENT ? 127 : 126);
}

}  // namespace

Result<std::unique_ptr<LaunchProgram>> LaunchProgram::start(EventLoop& loop, Options options) {
  const char* const search = ::getenv("PATH");
  const ProgramFile file =
      find_program(options.command.front(), search != nullptr ? search : "/bin:/usr/bin", "");
  if (file.error != 0) return Status(Code::kInvalidArgument, Scope::kOperation, file.text);
  std::unique_ptr<LaunchProgram> program(new LaunchProgram(loop, std::move(options)));
  PACELINE_TRY(program->fork(file.path));
  program->watch();
  return program;
}

Status LaunchProgram::fork(const std::string& path) {
  PACELINE_TRY_ASSIGN(Pipe input, make_pipe());
  PACELINE_TRY_ASSIGN(Pipe error, make_pipe());
  PACELINE_TRY_ASSIGN(const UniqueFd null, open_null());
  std::vector<std::string> words = options_.command;
  std::vector<std::string> variables = options_.environment;
  const std::vector<char*> arguments = exec_words(words);
  const std::vector<char*> environment = exec_words(variables);
  const Exec exec{.path = path.c_str(),
                  .arguments = arguments.data(),
                  .environment = variables.empty() ? environ : environment.data(),
                  .input = input.read_end.get(),
                  .output = null.get(),
                  .error = error.write_end.get(),
                  .parent = ::getpid()};
  pid_ = ::fork();
  if (pid_ == 0) become(exec);
  if (pid_ < 0) return pid_ = 0, system_error("fork a program that starts agents");
  pidfd_ = open_pidfd(pid_);
  if (!pidfd_) return system_error("watch a program that starts agents");
  input_ = std::move(input.write_end);
  error_ = std::move(error.read_end);
  for (const int fd : {input_.get(), error_.get()}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  return Status();
}

void LaunchProgram::watch() {
  loop_.when_writable(input_.get(), [this] { write_input(); });
  loop_.when_readable(error_.get(), [this] { read_error(); });
  loop_.when_readable(pidfd_.get(), [this] { reap(); });
}

void LaunchProgram::write_input() {
  const std::string& input = options_.input;
  const ssize_t written = ::write(input_.get(), input.data() + written_, input.size() - written_);
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (written > 0) written_ += static_cast<std::size_t>(written);
  if (written >= 0 && written_ < input.size()) return;
  loop_.forget_writable(input_.get());
  // Who does not read has ended, or will be found not to have started an agent.
  if (written < 0 || !options_.input_stays_open) input_.reset();
}

void LaunchProgram::close_input() {
  if (input_) loop_.forget_writable(input_.get());
  input_.reset();
}

bool LaunchProgram::read_error() {
  char bytes[4096];
  const ssize_t got = ::read(error_.get(), bytes, sizeof bytes);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    loop_.forget_readable(error_.get());
    error_.reset();
    return false;
  }
  line_.append(bytes, static_cast<std::size_t>(got));
  say_whole_lines();
  return true;
}

void LaunchProgram::say_whole_lines() {
  for (;;) {
    const std::size_t newline = line_.find('\n');
    if (newline == std::string::npos && line_.size() <= kLongestLine) return;
    const bool whole = newline <= kLongestLine;
    std::string line = line_.substr(0, whole ? newline : kLongestLine);
    line_.erase(0, line.size() + (whole ? 1 : 0));
    if (!line.empty() && line.back() == '\r') line.pop_back();
    options_.said(printable(line));
  }
}

// What it has left of its group goes with it, and its last lines come before the news.
void LaunchProgram::reap() {
  loop_.forget_readable(pidfd_.get());
  ::kill(-pid_, SIGKILL);
  int status = 0;
  ::waitpid(std::exchange(pid_, 0), &status, 0);
  while (error_ && read_error()) {
  }
  if (!line_.empty()) options_.said(printable(std::exchange(line_, "")));
  options_.ended(status);
}

void LaunchProgram::kill() {
  if (pid_ > 0) ::kill(-pid_, SIGKILL), ::kill(pid_, SIGKILL);
}

LaunchProgram::~LaunchProgram() {
  close_input();
  if (error_) loop_.forget_readable(error_.get());
  if (pidfd_) loop_.forget_readable(pidfd_.get());
  kill();
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
}

}  // namespace paceline::launcher
