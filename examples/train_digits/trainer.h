// The data-parallel training loop. Read this file and trainer.cc first, and copy from them.
#pragma once

#include <paceline/communicator.h>

#include "examples/train_digits/dataset.h"
#include "examples/train_digits/options.h"

namespace digits {

/// Trains on four fifths of `data`. Returns the accuracy on the held-out fifth, in percent, equal
/// on all ranks. Collective. Throws paceline::Error.
double train_digits(const Options& options, const Dataset& data, paceline::Communicator& world);

}  // namespace digits
