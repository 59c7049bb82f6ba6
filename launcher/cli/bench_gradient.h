// What `paceline bench` hands on where the word gradient follows.
#pragma once

#include <span>
#include <string>

namespace paceline::launcher {

/// Gets the words after gradient; returns the exit code.
int bench_gradient_command(std::span<const std::string> arguments);

}  // namespace paceline::launcher
