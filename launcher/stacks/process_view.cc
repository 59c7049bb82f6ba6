#include "launcher/stacks/process_view.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include <unistd.h>

#include "comm/base/read_file.h"
#include "comm/base/text.h"

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;
namespace v1 = job::v1;

// Numbers in the names of a folder, ascending.
std::vector<pid_t> numbered(const std::string& folder) {
  std::vector<pid_t> numbers;
  std::error_code gone;
  for (fs::directory_iterator at(folder, gone), end; !gone && at != end; at.increment(gone))
    if (const auto number = parse_number<pid_t>(at->path().filename().string()))
      numbers.push_back(*number);
  std::ranges::sort(numbers);
  return numbers;
}

std::string link_of(const std::string& path) {
  char text[4096];
  const ssize_t length = ::readlink(path.c_str(), text, sizeof text);
  return {text, length > 0 ? static_cast<std::size_t>(length) : 0};
}

std::string words_of_descriptor(const std::string& folder, int descriptor) {
  const std::string link = link_of(folder + "/fd/" + std::to_string(descriptor));
  if (const auto inode = socket_inode(link)) {
    for (const char* file : {"/net/tcp", "/net/tcp6"})
      if (std::string words = tcp_words(read_file(folder + file), *inode); !words.empty())
        return words;
    if (std::string words = unix_words(read_file(folder + "/net/unix"), *inode); !words.empty())
      return words;
  }
  return descriptor_words(link);
}

std::string waits_for(const std::string& folder, char state) {
  if (state == 'T') return "a signal to continue (SIGCONT): it is stopped";
  if (state == 't') return "its debugger";
  if (state != 'S' && state != 'D') return "";
  const auto call = parse_system_call(read_file(folder + "/syscall"));
  if (!call) return "";
  const CallWait wait = wait_of(*call);
  if (!wait.descriptor) return wait.words;
  const std::string descriptor = wait.words + " descriptor " + std::to_string(*wait.descriptor);
  const std::string words = words_of_descriptor(folder, *wait.descriptor);
  return words.empty() ? descriptor : descriptor + ", " + words;
}

// "0" stands for a thread that does not wait.
std::string kernel_function(const std::string& thread) {
  const std::string name = printable(trimmed(read_file(thread + "/wchan"), " \n"));
  return name == "0" ? "" : name.substr(0, kMaxFrameText);
}

bool descends_from(pid_t process, pid_t main, const std::map<pid_t, pid_t>& parents) {
  for (std::size_t steps = 0; steps <= parents.size(); ++steps) {
    const auto parent = parents.find(process);
    if (parent == parents.end() || parent->second == 0) return false;
    if (parent->second == main) return true;
    process = parent->second;
  }
  return false;
}

}  // namespace

std::vector<SeenProcess> all_seen_processes() {
  std::vector<SeenProcess> found;
  for (const pid_t pid : numbered("/proc")) {
    const auto stat = parse_stat(read_file("/proc/" + std::to_string(pid) + "/stat"));
    if (stat && stat->state != 'Z' && stat->state != 'X') found.push_back({pid, *stat});
  }
  return found;
}

std::vector<SeenProcess> choose_processes(const std::vector<SeenProcess>& all, pid_t main,
                                          const std::vector<pid_t>& preferred) {
  std::map<pid_t, pid_t> parents;
  for (const SeenProcess& one : all) parents.emplace(one.pid, one.stat.parent);
  std::vector<SeenProcess> chosen;
  for (const SeenProcess& one : all)
    if (one.pid == main || one.stat.group == main || descends_from(one.pid, main, parents))
      chosen.push_back(one);
  const std::set<pid_t> first(preferred.begin(), preferred.end());
  const auto order = [&](const SeenProcess& one) {
    return std::tuple(one.pid != main, !first.contains(one.pid), ~one.stat.cpu_ticks, one.pid);
  };
  std::ranges::sort(chosen, {}, order);
  if (chosen.size() > kMaxStackProcesses) chosen.resize(kMaxStackProcesses);
  return chosen;
}

v1::Process view_process(const SeenProcess& process) {
  v1::Process view;
  view.set_pid(process.pid);
  view.set_program(printable(process.stat.name));
  const std::string folder = "/proc/" + std::to_string(process.pid);
  for (const pid_t thread : threads_of(process.pid)) {
    const std::string task = folder + "/task/" + std::to_string(thread);
    const auto stat = parse_stat(read_file(task + "/stat"));
    if (!stat) continue;
    v1::Thread& added = *view.add_threads();
    added.set_id(thread);
    added.set_name(printable(stat->name));
    added.set_state(std::string(state_words(stat->state)));
    added.set_kernel_function(kernel_function(task));
    if (thread == process.pid) view.set_waits_for(waits_for(folder, stat->state));
  }
  return view;
}

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads = numbered("/proc/" + std::to_string(process) + "/task");
  std::ranges::stable_sort(threads, {}, [process](pid_t thread) { return thread != process; });
  if (threads.size() > kMaxStackThreads) threads.resize(kMaxStackThreads);
  return threads;
}

}  // namespace paceline::launcher
