// What a process of a lab sees of the machine, and what it does not: mounts, descriptors, devices.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/tools/lab/lab_site.h"

namespace paceline::launcher {

/// A session of its own, nothing open but `kept` and /dev/null as its standard descriptors, and
/// nothing in use that the machine could want to unmount.
Status leave_surroundings(std::vector<int> kept);

/// In a new mount namespace: /etc/hosts names the lab's hosts. What the machine mounts or unmounts
/// from now on happens here, too, but nothing goes the other way.
Status mount_for_switch(const LabSite& site);

/// The same, and what a host has for itself: /proc, /sys, /dev/shm, /run; the lab's folder is in
/// /run. Folders of the machine's own jobs are empty.
Status mount_for_host(const LabSite& site);

/// No addresses come and go by themselves in this network namespace.
Status switch_ipv6_off();

/// Connections of this network namespace grow and shrink as on most machines, whatever this one
/// does by default: with BBR they pause for 0.2 s every ten seconds (Cardwell et al., "BBR", ACM
/// Queue 2016: ProbeRTT). Nothing changes where the kernel allows no other way.
void control_congestion_by_losses();

/// Whether packets of this device are carried many in a unit, as by a NIC that takes units apart
/// and puts them together, or one by one as over a wire. Units take a third of the CPU time, and
/// seldom overtake each other: single ones that leave by different CPUs do, which connections take
/// for losses (4 hosts at 1 Gbit/s: an all-reduce went at half the rate). What is left of it with
/// units on a busy machine: 300 of 2.8 million segments sent again in 50 recoveries, half of them
/// undone. Receiving each device's packets on a CPU of its own (rps_cpus) ends that for half as
/// much CPU time again, and made steps of training no shorter.
Status carry_units(const std::string& device, bool in_units);

}  // namespace paceline::launcher
