// Values of job_v1.proto, as people read them.
#pragma once

#include <algorithm>
#include <string>

#include "comm/base/text.h"
#include "launcher/proto/job_v1.pb.h"

namespace paceline::launcher {

/// "PHASE_RUNNING" -> "running"
inline std::string plain_name(std::string name) {
  name.erase(0, name.find('_') + 1);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c == '_' ? ' ' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return name;
}

inline std::string phase_text(job::v1::Phase phase) {
  return plain_name(job::v1::Phase_Name(phase));
}

/// "[--ablate comm] ./train"
inline std::string shown_command(const job::v1::Snapshot& snapshot) {
  const std::string command = printable(snapshot.command());
  return snapshot.ablated().empty() ? command
                                    : "[--ablate " + printable(snapshot.ablated()) + "] " + command;
}

}  // namespace paceline::launcher
