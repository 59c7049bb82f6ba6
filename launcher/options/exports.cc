#include "launcher/options/exports.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include <fnmatch.h>

namespace paceline::launcher {
namespace {

constexpr std::string_view kAll = "ALL";
constexpr std::array<std::string_view, 5> kOfTheShell = {"PWD", "OLDPWD", "SHLVL", "HOSTNAME", "_"};

// A variable may have the name ALL; then it is meant.
bool matches(const std::string& wanted, const std::string& name, bool has_all) {
  if (wanted == kAll && !has_all) return std::ranges::find(kOfTheShell, name) == kOfTheShell.end();
  return wanted.find('*') == wanted.npos ? name == wanted
                                         : ::fnmatch(wanted.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

Exports exports_of(std::span<const EnvironmentSetting> given,
                   std::span<const std::string> environment) {
  const bool has_all = std::ranges::any_of(
      environment, [](const std::string& entry) { return entry.starts_with("ALL="); });
  Exports exports;
  for (const EnvironmentSetting& setting : given) {
    if (setting.value) {
      exports.settings.push_back(setting);
      continue;
    }
    bool is_found = false;
    for (const std::string& entry : environment) {
      const std::size_t equals = entry.find('=', 1);
      if (equals == entry.npos || !matches(setting.name, entry.substr(0, equals), has_all))
        continue;
      exports.settings.push_back(
          {.name = entry.substr(0, equals), .value = entry.substr(equals + 1)});
      is_found = true;
    }
    if (!is_found) exports.missing.push_back(setting.name);
  }
  return exports;
}

}  // namespace paceline::launcher
