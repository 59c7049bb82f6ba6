#include "launcher/system/run_program.h"

#include <array>
#include <string_view>

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/system/process.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr int kNotStarted = 127;

Result<UniqueFd> file_in_memory(const std::string& text) {
  UniqueFd file(::memfd_create("paceline-program", MFD_CLOEXEC));
  if (!file) return system_error("make a file in memory");
  const ssize_t written = ::pwrite(file.get(), text.data(), text.size(), 0);
  if (written != static_cast<ssize_t>(text.size())) return system_error("write a program's input");
  return file;
}

// What follows is where in its input, which nobody has seen.
std::string first_line(const UniqueFd& file) {
  std::array<char, 4096> bytes{};
  const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  const std::string_view text(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  return printable(text.substr(0, text.find('\n')));
}

[[noreturn]] void become(const std::vector<std::string>& words, const UniqueFd& input,
                         const UniqueFd& errors) {
  reset_signals();
  ::dup2(input.get(), STDIN_FILENO);
  replace_by_null(STDOUT_FILENO);
  ::dup2(errors.get(), STDERR_FILENO);
  const std::vector<char*> arguments = exec_words(words);
  ::execv(arguments[0], arguments.data());
  ::_exit(kNotStarted);
}

Status failure(Code code, const std::string& program, const std::string& why) {
  return Status(code, Scope::kProcess, program.substr(program.rfind('/') + 1) + ": " + why);
}

Status judge(const std::string& program, int wait_status, const UniqueFd& errors) {
  if (wait_status == 0) return Status();
  const std::string said = first_line(errors);
  if (!said.empty()) return failure(Code::kExhausted, program, said);
  const bool by_signal = WIFSIGNALED(wait_status);
  return failure(Code::kExhausted, program,
                 by_signal ? "was killed by signal " + std::to_string(WTERMSIG(wait_status))
                           : "exited with code " + std::to_string(WEXITSTATUS(wait_status)));
}

}  // namespace

Status run_program(const std::vector<std::string>& words, const std::string& input,
                   Duration patience) {
  PACELINE_TRY_ASSIGN(const UniqueFd input_file, file_in_memory(input));
  PACELINE_TRY_ASSIGN(const UniqueFd errors, file_in_memory(""));
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("fork a program");
  if (pid == 0) {
    die_with(parent);
    become(words, input_file, errors);
  }
  const UniqueFd ended = open_pidfd(pid);
  Status unseen = ended ? Status() : system_error("watch a program (pidfd_open)");
  pollfd waiting{.fd = ended.get(), .events = POLLIN, .revents = 0};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  const bool in_time = ended && ::poll(&waiting, 1, static_cast<int>(milliseconds)) == 1;
  if (!in_time) ::kill(pid, SIGKILL);
  int wait_status = 0;
  if (::waitpid(pid, &wait_status, 0) != pid) return system_error("wait for a program");
  if (!unseen.ok()) return unseen;
  if (!in_time) {
    return failure(Code::kTimeout, words[0],
                   "has not ended within " + seconds_text(patience) + ", and was killed");
  }
  return judge(words[0], wait_status, errors);
}

}  // namespace paceline::launcher
