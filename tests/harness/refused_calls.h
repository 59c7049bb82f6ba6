// Simulates a kernel without some system calls, or a container profile that refuses them.
#pragma once

#include <initializer_list>

namespace paceline::testing {

/// From now on each of these system calls, by its number (sys/syscall.h), fails with `error`. This
/// holds for the calling thread, for threads that it makes, and after execve(2). False if such a
/// filter cannot be set.
bool refuse_system_calls(std::initializer_list<int> numbers, int error);

}  // namespace paceline::testing
