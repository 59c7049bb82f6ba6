#include "launcher/head/sent_variables.h"

#include <string>
#include <string_view>

#include "comm/base/environment.h"

namespace paceline::launcher {
namespace {

// Without these, the same command may run another interpreter on another host.
constexpr std::string_view kPaths[] = {"PATH",        "LD_LIBRARY_PATH", "PYTHONPATH",
                                       "VIRTUAL_ENV", "CONDA_PREFIX",    "CONDA_DEFAULT_ENV"};

}  // namespace

Variables variables_for_others(bool paths, FunctionRef<const char*(const char*)> environment) {
  Variables variables;
  const auto add = [&](std::string_view view) {
    const std::string name(view);
    const char* const value = environment(name.c_str());
    if (value == nullptr) return;
    messages::Variable& variable = *variables.Add();
    variable.set_name(name);
    variable.set_value(value);
  };
  if (paths) {
    for (const std::string_view name : kPaths) add(name);
  }
  for (const Variable& known : environment_variables())
    if (known.setter == Setter::kUser) add(known.name);
  return variables;
}

}  // namespace paceline::launcher
