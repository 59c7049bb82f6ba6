// The arguments of `paceline lab`. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/tools/lab/lab_plan.h"

namespace paceline::launcher {

enum class LabAction : std::uint8_t {
  kUp,
  kDown,
  kList,
  kExec,
  kSlow,
  kCut,
  kOneway,
  kDrop,
  kMtu,
  kHeal,
  kPause,
  kResume,
  kKill,
  kCpu,
};

/// What is wrong with links or hosts, and where.
struct LabFault {
  std::string host;            ///< empty: all of them
  std::int64_t rate_bits = 0;  ///< slow
  int loss_thousandths = 0;    ///< drop: of a percent
  int mtu = 0;                 ///< mtu
  int cpu_thousandths = 0;     ///< cpu: of one CPU
  bool egress = true;          ///< slow: what the host sends
  bool ingress = true;         ///< slow: what it gets
  std::string peer;            ///< slow: only between the two; empty: all that passes its links
  std::optional<int> rail;     ///< from 0; none: all rails
};

struct LabRequest {
  LabAction action = LabAction::kList;
  LabPlan plan;                      ///< up; of the other actions' lab it has the name
  LabFault fault;                    ///< of all others but down, list and exec
  std::string host;                  ///< exec
  std::vector<std::string> command;  ///< exec; never empty
};

/// `arguments` begin after the word lab.
Result<LabRequest> parse_lab(std::span<const std::string> arguments);

/// Whether --help or -h stands before the command of exec, or nothing at all.
bool lab_asks_for_help(std::span<const std::string> arguments);

/// One screen.
std::string lab_help();

}  // namespace paceline::launcher
