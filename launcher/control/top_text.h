// What `paceline top` shows. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "launcher/proto/job_v1.pb.h"

namespace paceline::launcher {

/// The snapshots of a page; borrowed.
struct TopView {
  /// Hosts are read once a second. So what they did is shown since this one, some seconds ago.
  const job::v1::Snapshot& earlier;
  const job::v1::Snapshot& before;  ///< of the page before
  const job::v1::Snapshot& now;
};

/// A page for a terminal of so many lines: the job, where the time since the page before went, the
/// ranks, those first for which others wait the most, and how the hosts are used.
std::string top_page(const TopView& view, std::size_t lines);

/// The same on one line, without the ranks.
std::string top_line(const job::v1::Snapshot& before, const job::v1::Snapshot& now);

}  // namespace paceline::launcher
