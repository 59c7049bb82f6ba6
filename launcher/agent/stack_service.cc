// Runs in the agent.
#include "launcher/agent/stack_service.h"

#include <cstdlib>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "launcher/stacks/stored_archive.h"
#include "launcher/system/system.h"

namespace paceline::launcher {

Result<UniqueFd> make_python_hook() {
  UniqueFd file(::memfd_create("paceline-hook", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool is_made =
      file && write_all(file.get(), stored_archive("sitecustomize.py", kPythonHook)) &&
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) ==
          0;
  if (!is_made) return system_error("make Python's hook");
  return file;
}

std::string python_path(int descriptor, const char* before) {
  const std::string archive = "/proc/self/fd/" + std::to_string(descriptor);
  const bool has_more = before != nullptr && *before != '\0';
  return has_more ? archive + ":" + before : archive;
}

Status StackService::prepare(const messages::Start& start) {
  *start_.mutable_apps() = start.apps();
  *start_.mutable_ranks() = start.ranks();
  if (!start.python_hooks()) return {};
  // A host without room for it has no hooks; everything else goes on.
  if (Result<UniqueFd> hook = make_python_hook(); hook.ok()) hook_ = *std::move(hook);
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
  if (!hook_) return {};
  Result<UniqueFd> hook = duplicate(hook_.get());
  Result<UniqueFd> memory = make_python_memory();
  Result<UniqueFd> of_rank = memory.ok() ? duplicate(memory->get()) : Result<UniqueFd>(UniqueFd());
  if (!hook.ok() || !memory.ok() || !of_rank.ok()) return {};
  added.memory = *std::move(memory);
  added.descriptor = rank.add(*std::move(of_rank));
  add_variable(rank.variables(), kPythonHookVariable,
               python_hook_value(describe_python_memory(added.memory, added.descriptor)));
  add_variable(rank.variables(), "PYTHONPATH",
               python_path(rank.add(*std::move(hook)), python_path_of(place)));
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
