// Runs in the agent.
#include "launcher/agent/stack_service.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "launcher/registry/leftovers.h"
#include "launcher/system/system.h"

namespace paceline::launcher {

PythonFolder::~PythonFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

// Nobody else knows the name before it exists, and the mode is 0700.
bool PythonFolder::make(const std::string& place, const std::string& job_id) {
  std::string path = place + "/" + shared_memory_prefix(job_id) + "python-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return false;
  const UniqueFd file(
      ::open((path + "/sitecustomize.py").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  // A part of the hook would hide the user's own sitecustomize.
  if (file && write_all(file.get(), kPythonHook)) {
    path_ = std::move(path);
    return true;
  }
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
  return false;
}

std::string python_path(const std::string& folder, const char* before) {
  if (folder.empty() || folder.find(':') != folder.npos) return "";
  const bool has_more = before != nullptr && *before != '\0';
  return has_more ? folder + ":" + before : folder;
}

Status StackService::prepare(const messages::Start& start) {
  *start_.mutable_apps() = start.apps();
  *start_.mutable_ranks() = start.ranks();
  // A host without room for a file has no hooks; everything else goes on.
  if (start.python_hooks()) folder_.make(place_, start.job_id());
  return {};
}

const char* StackService::python_path_of(std::size_t local_rank) const {
  std::size_t first = 0;
  for (const messages::App& app : start_.apps()) {
    first += app.ranks();
    if (local_rank < first) return value_of("PYTHONPATH", app.environment(), ::getenv);
  }
  return nullptr;
}

Status StackService::equip(int local_rank, RankEquipment& rank) {
  const auto place = static_cast<std::size_t>(local_rank);
  Rank& added = ranks_[start_.ranks(local_rank)];
  std::string path = python_path(folder_.path(), python_path_of(place));
  if (path.empty()) return {};
  Result<UniqueFd> memory = make_python_memory();
  Result<UniqueFd> of_rank = memory.ok() ? duplicate(memory->get()) : Result<UniqueFd>(UniqueFd());
  if (!memory.ok() || !of_rank.ok()) return {};
  added.memory = *std::move(memory);
  added.descriptor = rank.add(*std::move(of_rank));
  add_variable(rank.variables(), kPythonHookVariable,
               python_hook_value(describe_python_memory(added.memory, added.descriptor)));
  add_variable(rank.variables(), "PYTHONPATH", std::move(path));
  return {};
}

void StackService::started(const messages::RankStarted& rank) {
  const auto process = identify(static_cast<pid_t>(rank.pid()));
  if (process) ranks_[rank.rank()].process = *process;
}

void StackService::ended(const messages::ProcessExited& exited, messages::RankExited&) {
  ranks_.erase(exited.rank());
}

messages::LookAtRanks StackService::look_for(const messages::TakeStacks& wanted, bool is_idle) {
  messages::LookAtRanks request;
  request.set_number(wanted.number());
  for (const std::uint32_t number : wanted.ranks()) {
    messages::LookAtRank& look = *request.add_ranks();
    look.set_rank(number);
    const auto found = ranks_.find(number);
    if (found == ranks_.end()) continue;
    const Rank& rank = found->second;
    look.set_pid(rank.process.pid);
    look.set_start_time(rank.process.start_time);
    if (!rank.memory) continue;
    if (is_idle) make_room_for_text(rank.memory);
    *look.mutable_memory() = describe_python_memory(rank.memory, rank.descriptor);
  }
  return request;
}

}  // namespace paceline::launcher
