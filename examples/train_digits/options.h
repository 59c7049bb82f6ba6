// The command line of train_digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <paceline/gradient_pipeline.h>
#include <paceline/status.h>

namespace digits {

/// The defaults reach 97 % within seconds. 192 is a multiple of 12, so that 1, 2, 3, 4, 6 and 12
/// ranks get equal shares.
struct Options {
  std::string data;  ///< file of images; parse_options() sets the digits of this example
  std::size_t epochs = 60;
  std::size_t batch = 192;  ///< images per step, over all ranks
  std::size_t hidden = 256;
  float rate = 0.1f;
  float momentum = 0.9f;
  std::uint64_t seed = 1;
  paceline::Codec codec = paceline::Codec::kNone;
  std::string curve;    ///< file for the loss of every step; empty: none
  float target = 0.0f;  ///< held-out accuracy to reach, in percent
  bool help = false;
};

/// Parses "--name VALUE" and "--name=VALUE". `arguments` do not include the program's name. An
/// error names the option and the form of its value.
paceline::Result<Options> parse_options(std::span<const char* const> arguments);

std::string help_text();

}  // namespace digits
