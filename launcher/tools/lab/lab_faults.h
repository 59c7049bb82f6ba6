// Trouble on purpose, while jobs run: see LabAction. Each acts on one host, or on all that live.
#pragma once

#include <vector>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "launcher/tools/lab/lab_options.h"
#include "launcher/tools/lab/lab_record.h"

namespace paceline::launcher {

enum class LabHostState : std::uint8_t { kRuns, kPaused, kKilled };
LabHostState state_of(const LabRecord& record, int host);

/// Does what `action` says (slow to cpu, heal among them), and has done it when it returns.
Status make_trouble(const LabRecord& record, LabAction action, const LabFault& fault,
                    const Clock& clock);

}  // namespace paceline::launcher
