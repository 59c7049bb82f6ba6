#include "launcher/engines/engine.h"

#include <iterator>

#include "launcher/engines/rows.h"

namespace paceline::launcher {
namespace {

struct Row {
  std::string_view name;
  Result<std::unique_ptr<Engine>> (*make)(const EngineOptions& options);
  bool takes_detail = false;
};

constexpr Row kEngines[] = {
    {"ssh", make_ssh_engine},
    {"slurm", make_slurm_engine},
    {"mpirun", make_mpirun_engine},
    {"lab", make_lab_engine, true},
};

}  // namespace

Result<std::unique_ptr<Engine>> make_engine(const EngineOptions& options) {
  if (!options.launch_command.empty()) return make_command_engine(options);
  const std::string_view name = std::string_view(options.name).substr(0, options.name.find(':'));
  std::string names(kLocalEngine);
  for (const Row& row : kEngines) {
    if (row.name == name && (row.takes_detail || name == options.name)) return row.make(options);
    names.append(", ").append(row.name);
  }
  return Status(Code::kInvalidArgument, Scope::kOperation,
                "unknown engine '" + options.name + "' for other hosts; known are " + names);
}

}  // namespace paceline::launcher
