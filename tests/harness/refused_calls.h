// System calls that the kernel does not have, or that a container's profile refuses.
#pragma once

#include <initializer_list>

namespace paceline::testing {

/// From now on, for this thread and those that it makes, and through execve(2): each of these
/// system calls, by its number (sys/syscall.h), fails with `error`. False where no such filter can
/// be set.
bool refuse_system_calls(std::initializer_list<int> numbers, int error);

}  // namespace paceline::testing
