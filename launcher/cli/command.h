// The subcommands of `paceline`: main.cc has the table.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace paceline::launcher {

struct Command {
  std::string_view name;
  std::string_view summary;  ///< empty: not for users
  /// Gets the words after the name; returns the exit code.
  int (*run)(std::span<const std::string> arguments);
};

/// Is --help or -h anywhere among them?
bool asks_for_help(std::span<const std::string> arguments);

int run_command(std::span<const std::string> arguments);     ///< paceline run
int list_command(std::span<const std::string> arguments);    ///< paceline list
int status_command(std::span<const std::string> arguments);  ///< paceline status
int top_command(std::span<const std::string> arguments);     ///< paceline top
int cancel_command(std::span<const std::string> arguments);  ///< paceline cancel
int runs_command(std::span<const std::string> arguments);    ///< paceline runs
int report_command(std::span<const std::string> arguments);  ///< paceline report
int scale_command(std::span<const std::string> arguments);   ///< paceline scale
int bench_command(std::span<const std::string> arguments);   ///< paceline bench
int tune_command(std::span<const std::string> arguments);    ///< paceline tune
int check_command(std::span<const std::string> arguments);   ///< paceline check
int topo_command(std::span<const std::string> arguments);    ///< paceline topo
int lab_command(std::span<const std::string> arguments);     ///< paceline lab
int info_command(std::span<const std::string> arguments);    ///< paceline info
int agent_command(std::span<const std::string> arguments);   ///< paceline agent, for engines

}  // namespace paceline::launcher
