#include "launcher/channel/grpc_loader.h"

#include <cstdlib>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace paceline::launcher {
namespace {

// gRPC reads variables such as GRPC_SSL_CIPHER_SUITES, which are meant for the ranks.
void forget_variables_of_grpc() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("GRPC_")) names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

}  // namespace

Result<const void*> load_grpc_module(const ProgramModule& module) {
  forget_variables_of_grpc();
  return load_module(module);
}

}  // namespace paceline::launcher
