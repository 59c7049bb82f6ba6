// The file of `paceline run --evidence`: what is accepted has a verdict, and a refusal says why.
// The input is the bytes of the file, or, after an even byte, those that zlib has compressed in it.

#include <string>

#include "comm/base/assert.h"
#include "launcher/channel/deflated_text.h"
#include "launcher/channel/evidence_stream.h"
#include "launcher/head/evidence_replay.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paceline::launcher;
  paceline::fuzz::FuzzInput input(data, size);
  const bool is_compressed = input.byte() % 2 != 0;
  const std::string text = paceline::to_text(input.rest());
  const auto evidence = read_evidence(is_compressed ? text : deflated(text));
  if (!evidence.ok()) {
    PACELINE_ASSERT(evidence.status().text().find("the evidence ") == 0);
    return 0;
  }
  PACELINE_ASSERT(!evidence->items.empty() && evidence->items.front().has_start());
  (void)replayed_figures(evidence->items);
  return 0;
}
