#include "launcher/engines/engine.h"

#include <iterator>

#include "launcher/engines/rows.h"

namespace paceline::launcher {
namespace {

struct Row {
  std::string_view name;
  Result<std::unique_ptr<Engine>> (*make)(const EngineOptions& options);
};

constexpr Row kEngines[] = {
    {"ssh", make_ssh_engine},
    {"slurm", make_slurm_engine},
    {"mpirun", make_mpirun_engine},
    {"lab", make_lab_engine},
};

}  // namespace

Result<std::unique_ptr<Engine>> make_engine(const EngineOptions& options) {
  if (!options.launch_command.empty()) return make_command_engine(options);
  std::string names;
  for (const Row& row : kEngines) {
    if (row.name == options.name) return row.make(options);
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return Status(Code::kInvalidArgument, Scope::kOperation,
                "there is no engine '" + options.name + "' for other hosts; there are " + names);
}

}  // namespace paceline::launcher
