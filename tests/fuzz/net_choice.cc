// PACELINE_NET and its relatives: whatever is in them is taken or refused with a sentence, within
// its bounds; a choice that excludes alone takes what it does not name.

#include "comm/base/net_choice.h"

#include <string>

#include "comm/base/assert.h"
#include "tests/fuzz/fuzz_input.h"

namespace paceline {
namespace {

constexpr std::size_t kMaxErrorBytes = 512;

void check(const std::string& text, NetDialect dialect) {
  const Result<NetChoice> choice = NetChoice::parse(text, dialect);
  if (!choice.ok()) {
    PACELINE_ASSERT(choice.status().code() == Code::kInvalidArgument);
    PACELINE_ASSERT(choice.status().text().size() < kMaxErrorBytes);
    return;
  }
  const IpAddress address = *IpAddress::parse("10.77.0.1");
  const bool taken = choice->takes("eth0", address);
  if (!choice->is_stated()) PACELINE_ASSERT(taken);
  // The same words once more change nothing.
  const Result<NetChoice> twice = NetChoice::parse(text + "," + text, dialect);
  const bool has_marks = text.find_first_of("^=") != text.npos;
  if (twice.ok() && !has_marks) PACELINE_ASSERT(twice->takes("eth0", address) == taken);
}

}  // namespace
}  // namespace paceline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  for (const auto dialect :
       {paceline::NetDialect::kPaceline, paceline::NetDialect::kNccl, paceline::NetDialect::kGloo})
    paceline::check(text, dialect);
  return 0;
}
