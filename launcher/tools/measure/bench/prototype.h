// What a prototype of the loop without library reached on another machine, and what that is worth
// on this one. Pure.
//
// The prototype ran with 2 ranks on 2 cores of a virtual machine (Sapphire Rapids in KVM), where a
// flag took 70 to 160 ns one way and two threads copied 13 to 82 GB/s. Its times are scaled by what
// flags and copies allow there and here (launcher/tools/measure/probe/loop/limit.h).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "launcher/tools/measure/bench/bench_report.h"
#include "launcher/tools/measure/probe/loop/row.h"

namespace paceline::launcher {

/// What it would take here, in nanoseconds; nothing where it was not measured at that size, with
/// that many ranks or out of place, or where this machine's limits are not known.
std::optional<double> prototype_ns(const BenchTitle& title, const probe::Row& row);

/// Whether the rows come within 20 % of it: a line for each size where that can be said, and one
/// for all. Empty where there is none.
std::string prototype_lines(const BenchTitle& title, std::span<const probe::Row> rows);

}  // namespace paceline::launcher
