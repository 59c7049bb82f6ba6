// Finds late ranks and slow links again from the file of `paceline run --evidence`.
//
//   telemetry_evidence_verdict FILE [SEED…]
//
// Prints a line of JSON for the evidence as it was recorded. With seeds: one for each of them, of
// evidence that variation.h has changed. "ranks" has the new number of each rank, "run" is as in
// the run record.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "launcher/channel/evidence_stream.h"
#include "launcher/head/evidence_replay.h"
#include "tests/acceptance/telemetry/replay/variation.h"

namespace {

using namespace paceline::launcher;

const char* word_of(EvidenceEnding ending) {
  switch (ending) {
    case EvidenceEnding::kWhole:
      return "whole";
    case EvidenceEnding::kCut:
      return "cut";
    case EvidenceEnding::kBrokenOff:
      return "broken off";
  }
  return "unknown";
}

void print(const Evidence& evidence, const VariedEvidence& varied, const std::string& seed) {
  std::string ranks;
  for (const std::uint32_t rank : varied.ranks)
    ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  RunEntry run;
  run.ranks = static_cast<int>(varied.ranks.size());
  run.figures = replayed_figures(varied.items);
  std::printf("{\"seed\": %s, \"ending\": \"%s\", \"ranks\": [%s], \"run\": %s}\n", seed.c_str(),
              word_of(evidence.ending), ranks.c_str(), line_of(run).c_str());
}

// Ranks keep their numbers.
VariedEvidence as_recorded(const Evidence& evidence) {
  VariedEvidence same{.items = evidence.items, .ranks = {}};
  const int ranks = evidence.items.front().start().rank_hosts_size();
  for (int rank = 0; rank < ranks; ++rank) same.ranks.push_back(static_cast<std::uint32_t>(rank));
  return same;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: telemetry_evidence_verdict FILE [SEED…]\n");
    return 2;
  }
  std::ifstream file(words[1], std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto evidence = read_evidence(bytes);
  if (!file || !evidence.ok()) {
    const std::string why =
        evidence.ok() ? "it cannot be read" : std::string(evidence.status().text());
    std::fprintf(stderr, "%s: %s\n", words[1], why.c_str());
    return 1;
  }
  if (count == 2) print(*evidence, as_recorded(*evidence), "null");
  for (int i = 2; i < count; ++i) {
    std::uint64_t seed = 0;
    const char* const end = words[i] + std::strlen(words[i]);
    if (const auto read = std::from_chars(words[i], end, seed);
        read.ptr != end || read.ec != std::errc()) {
      std::fprintf(stderr, "'%s' is not a seed; use a whole number\n", words[i]);
      return 2;
    }
    print(*evidence, varied(evidence->items, seed), std::to_string(seed));
  }
  return 0;
}
