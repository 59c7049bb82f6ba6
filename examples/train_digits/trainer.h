// The data-parallel training loop. This is the file pair to read first, and to copy from.
#pragma once

#include <paceline/communicator.h>

#include "examples/train_digits/dataset.h"
#include "examples/train_digits/options.h"

namespace digits {

/// Trains on four fifths of `data` and returns the accuracy on the held-out fifth, in percent; it
/// is the same on every rank. Collective. Throws paceline::Error.
double train_digits(const Options& options, const Dataset& data, paceline::Communicator& world);

}  // namespace digits
