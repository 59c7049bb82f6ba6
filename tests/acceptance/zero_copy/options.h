// The command line of this folder's programs: nothing, --quick, or one option with a value.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::testing {

struct Options {
  bool quick = false;
  const char* value = nullptr;  ///< of the program's own option; null: not given
};

/// `own` is that option, "--seed"; empty: there is none. What cannot be read is said, and nothing
/// returned: then the program ends with 2.
inline std::optional<Options> read_options(int argc, char** argv, const std::string& program,
                                           std::string_view own = "") {
  if (argc == 1) return Options{};
  const std::string_view word = argv[1];
  if (argc == 2 && word == "--quick") return Options{.quick = true};
  if (argc == 3 && !own.empty() && word == own) return Options{.value = argv[2]};
  const std::string rest = own.empty() ? "" : " [" + std::string(own) + " N]";
  std::fprintf(stderr, "usage: %s [--quick]%s\n", program.c_str(), rest.c_str());
  return std::nullopt;
}

}  // namespace paceline::testing
