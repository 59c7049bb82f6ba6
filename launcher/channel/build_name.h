// A head and an agent understand each other if their builds have the same name.
#pragma once

#include <string_view>

namespace paceline::launcher {

/// "0.1.0 (messages 3f2a91c4)": the version, and a fingerprint of messages.proto. Two builds with
/// different messages have different names, even if their versions are the same.
std::string_view build_name();

}  // namespace paceline::launcher
