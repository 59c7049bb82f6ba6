// What writers of JSON share. nlohmann's header takes long to compile: a few files include this.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace paceline::topology {

/// Keys stay in the order in which they are added.
using Json = nlohmann::ordered_json;

/// On one line; what is no UTF-8 is replaced.
inline std::string compact(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace paceline::topology
