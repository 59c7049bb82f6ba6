// Limits the descriptors that a program or a forked process inherits.
#pragma once

namespace paceline::launcher {

/// Makes all descriptors from `first` on close-on-exec. Uses close_range(2). If the kernel lacks it
/// or its flag (before Linux 5.11), or a container profile refuses it, sets the flag on each
/// descriptor that /proc/self/fd lists.
void close_on_exec_from(int first);

/// Closes the descriptors from `first` to `last`, inclusive, in the same two ways.
void close_descriptors(int first, int last);

/// Closes all descriptors above standard error but this one.
void close_all_but(int descriptor);

/// Closes those that exec(3) closes: for a forked process that goes on without it.
void close_as_exec();

}  // namespace paceline::launcher
