// Words of C as those of C++. What is none becomes one that the communicator refuses, as it does in
// C++.
#pragma once

#include <paceline/paceline.h>
#include <paceline/reduce_rule.h>
#include <paceline/types.h>

namespace paceline::c_interface {

DataType type_of(plDataType_t type);

/// An op of plRedOp_t, or one that was made for the communicator, which may be null.
ReduceRule rule_of(plRedOp_t op, plComm* comm);

}  // namespace paceline::c_interface
