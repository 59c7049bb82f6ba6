// One run of one contender: its ranks are started, and what they have measured comes back.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "launcher/bench/contender.h"
#include "launcher/probe/orders.h"
#include "launcher/probe/row.h"

namespace paceline::launcher {

struct Measured {
  std::vector<probe::Row> rows;
  int exit_code = 0;   ///< of its ranks; kExitTimeout where nothing more came from them
  std::string errors;  ///< what they said on standard error, where it was not shown
};

/// How long the ranks may take from one row to the next, however slow they are; `row` counts from
/// 0, and the first includes their start. Pure.
Duration patience_with(const probe::Orders& orders, int ranks, std::size_t row);

/// `site.ranks` ranks follow `orders`; each row goes to `on_row` as it comes. An error only where
/// nothing could be started.
Result<Measured> run_contender(const Contender& contender, const BenchSite& site,
                               probe::Orders orders,
                               const std::function<void(const probe::Row&)>& on_row);

}  // namespace paceline::launcher
