// A reader of what `paceline topo --format json` writes.
#pragma once

#include <paceline/status.h>

#include "topology/model/host_model.h"
#include "topology/read/named_text.h"

namespace paceline::topology {

class JsonValue;

/// An error names file, line and reason. Data that is odd but usable becomes a warning of the
/// model.
Result<HostModel> read_model_json(const NamedText& file);
/// The same of a machine that stands within another document; an error names its place there.
Result<HostModel> read_model_value(const JsonValue& document);

}  // namespace paceline::topology
