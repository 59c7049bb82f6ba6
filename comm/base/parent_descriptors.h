// Descriptors that a forked child does not inherit.
//
// A connection ends for the peer when the last process that has it open ends. A child, of a data
// loader for example, may outlive its parent. Then peers of the parent would wait for a timeout.
#pragma once

namespace paceline {

/// From now on fork() gives children a descriptor of /dev/null in the place of `fd`, which must be
/// open. So the child gives its number to no other file. After a clone() system call a child has
/// the descriptor itself. Any thread.
void keep_from_children(int fd);
/// Ends that. Call it before `fd` is closed.
void leave_to_children(int fd);

}  // namespace paceline
