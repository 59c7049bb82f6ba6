// What `paceline top` shows. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "launcher/proto/job_v1.pb.h"

namespace paceline::launcher {

/// A page for a terminal of so many lines: the job, where the time between the two snapshots went,
/// and the ranks, those first for which others wait the most.
std::string top_page(const job::v1::Snapshot& before, const job::v1::Snapshot& now,
                     std::size_t lines);

/// The same on one line, without the ranks.
std::string top_line(const job::v1::Snapshot& before, const job::v1::Snapshot& now);

}  // namespace paceline::launcher
