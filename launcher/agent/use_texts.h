// Texts of the kernel about the use of a host or a process, as figures. Pure. What a text does not
// say is unknown, which is not zero.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "comm/base/function_ref.h"
#include "telemetry/job/figures.h"

namespace paceline::launcher {

/// By /proc/stat: CPUs, their busy time and their stolen time, in ticks of `ticks_per_s`.
void read_cpu_times(std::string_view proc_stat, double ticks_per_s, HostFigures& figures);
/// By /proc/meminfo.
void read_memory(std::string_view meminfo, HostFigures& figures);
/// Seconds in which some task was stalled, by a file of /proc/pressure or a group's *.pressure
/// (Documentation/accounting/psi.rst of Linux).
std::optional<double> stalled_seconds(std::string_view pressure);
/// By /proc/diskstats: the sum over the devices that `is_disk`.
void read_disks(std::string_view diskstats, FunctionRef<bool(const std::string&)> is_disk,
                HostFigures& figures);
/// By /proc/net/dev: the sum over the interfaces that `is_counted`.
void read_interfaces(std::string_view net_dev, FunctionRef<bool(const std::string&)> is_counted,
                     HostFigures& figures);
/// By /proc/PID/io: what reached disks.
void read_process_io(std::string_view io, HostFigures& figures);

}  // namespace paceline::launcher
