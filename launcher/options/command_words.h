// The words of a command line, sorted: options with their values, and programs. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

namespace paceline::launcher {

struct KnownOption {
  std::string name;  ///< "np": the long one, without dashes
  char letter = 0;   ///< 'n'; 0: it has none
  bool takes_value = false;
  bool takes_number = false;  ///< -n4 is -n 4, but -nodes is a mistyped word
  bool per_program = false;   ///< each program has its own; else it is the whole job's
};

/// One program's share of the words.
struct ProgramWords {
  std::vector<std::string> options;  ///< each as --name or --name=value
  std::vector<std::string> program;  ///< with its arguments

  bool operator==(const ProgramWords&) const = default;
};

/// Cuts `arguments` at each word ":" into programs; so no program can be given that word. Options
/// end at "--" or at the first word that does not begin with a dash. An option may be written
/// --name, -name, --name=value, -n value, -n=value or -nvalue. Errors: an unknown option (with the
/// nearest known one), a value too many or too few, a program that is missing, and an option of the
/// whole job after the first ":". Where no program starts (`needs_program`) they may be missing.
Result<std::vector<ProgramWords>> sort_words(std::span<const KnownOption> known,
                                             std::span<const std::string> arguments,
                                             bool needs_program = true);

/// Whether the option stands among those before the first program, in any of its forms.
bool mentions(std::span<const KnownOption> known, std::span<const std::string> arguments,
              const std::string& name);

}  // namespace paceline::launcher
