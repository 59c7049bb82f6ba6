// One run of contenders: their ranks are started, and what they have measured comes back.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "launcher/tools/measure/bench/contender.h"
#include "launcher/tools/measure/probe/loop/orders.h"
#include "launcher/tools/measure/probe/loop/row.h"

namespace paceline::launcher {

struct Measured {
  std::vector<probe::Row> rows;  ///< all of a size, then those of the next
  /// Of its ranks; kExitTimeout where nothing more came from them. Nothing where they were ended
  /// because of another contender.
  std::optional<int> exit_code;
  std::string errors;  ///< what they said on standard error, where it was not shown
};

/// How long a program's ranks may take from one sign of life to the next, however slow they are: at
/// so many bytes, and until the first. Pure.
Duration patience_at(const probe::Orders& orders, int ranks, std::size_t bytes);
Duration patience_to_start(const probe::Orders& orders, int ranks);

/// `site.ranks` ranks of each contender follow `orders`, in turn where there are several, all of
/// them alive from the first turn to the last; each row goes to `on_row` as it comes. An error only
/// where something could not be started.
using OnRow = std::function<void(std::size_t which, const probe::Row& row)>;
Result<std::vector<Measured>> run_contenders(std::span<const Contender> contenders,
                                             const BenchSite& site, const probe::Orders& orders,
                                             const OnRow& on_row);

}  // namespace paceline::launcher
