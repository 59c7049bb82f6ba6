// Which descriptors a program that is executed gets.
#pragma once

namespace paceline::launcher {

/// From now on those from `first` on are close-on-exec. close_range(2), or, where the kernel does
/// not have it or not its flag (before Linux 5.11), or a container profile refuses it, one after
/// the other as /proc/self/fd lists them.
void close_on_exec_from(int first);

/// Closes those from `first` to `last`, both included. The same two ways.
void close_descriptors(int first, int last);

}  // namespace paceline::launcher
