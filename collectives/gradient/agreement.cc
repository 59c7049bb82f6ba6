#include "collectives/gradient/agreement.h"

#include <algorithm>
#include <bit>
#include <string>

#include "collectives/group_members.h"
#include "comm/base/random.h"

namespace paceline {
namespace {

class Digest {
 public:
  void mix(std::uint64_t value) { value_ = Random(value_ ^ value).next(); }
  void mix_real(double value) { mix(std::bit_cast<std::uint64_t>(value)); }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

std::uint64_t digest_of(std::span<const Parameter> parameters) {
  Digest digest;
  digest.mix(parameters.size());
  for (const Parameter& parameter : parameters) {
    digest.mix(parameter.count);
    digest.mix(parameter.columns);
    digest.mix(static_cast<std::uint64_t>(parameter.type));
    digest.mix(static_cast<std::uint64_t>(parameter.uses));
    digest.mix(parameter.name.size());
    for (const char letter : parameter.name) digest.mix(static_cast<unsigned char>(letter));
  }
  return digest.value();
}

std::uint64_t digest_of(const GradientOptions& options) {
  Digest digest;
  digest.mix(options.bucket_bytes);
  digest.mix(static_cast<std::uint64_t>(options.codec));
  digest.mix_real(options.error_budget);
  digest.mix_real(options.top_k_share);
  digest.mix(static_cast<std::uint64_t>(options.power_sgd_rank));
  for (const bool flag :
       {options.is_average, options.finds_overflow, options.computes_norm, options.forces_codec})
    digest.mix(flag ? 1 : 0);
  if (options.on_device) digest.mix(1);
  return digest.value();
}

Status error_about(Code code, const Group& group, std::size_t rank, const std::string& what) {
  const int number = static_cast<int>(rank);
  return Status(code, Scope::kGroup, rank_text(group, number) + " " + what,
                culprit_of(group, number));
}

}  // namespace

std::uint64_t digest_of(std::span<const Parameter> parameters, const GradientOptions& options) {
  Digest digest;
  // The state of codecs does not depend on where gradients lie.
  GradientOptions anywhere = options;
  anywhere.on_device = false;
  digest.mix(digest_of(parameters));
  digest.mix(digest_of(anywhere));
  return digest.value();
}

PipelineOffer offer_of(std::span<const Parameter> parameters, const GradientOptions& options,
                       const Status& own, bool by_library) {
  return {.parameters = digest_of(parameters),
          .options = digest_of(options),
          .code = static_cast<std::uint64_t>(own.code()),
          .by_library = by_library ? 1u : 0u};
}

Status judge_offers(std::span<const PipelineOffer> offers, const Group& group, const Status& own) {
  const PipelineOffer& first = offers.front();
  const auto is_equal = [&](const PipelineOffer& one) {
    return one.parameters == first.parameters && one.options == first.options;
  };
  const auto different = std::ranges::find_if_not(offers, is_equal);
  const auto unable = std::ranges::find_if(offers, [](auto& one) { return one.code != 0; });
  const bool all_are_equal = different == offers.end();
  if (unable != offers.end()) {
    if (all_are_equal && !own.ok()) return own;
    const auto rank = static_cast<std::size_t>(unable - offers.begin());
    const Code code = all_are_equal ? static_cast<Code>(unable->code) : Code::kMismatch;
    const bool is_own = static_cast<int>(rank) == group.rank;
    return error_about(code, group, rank,
                       "cannot make its gradient pipeline" +
                           (is_own ? ": " + own.text() : std::string("; its own error says why")));
  }
  if (all_are_equal) return {};
  return error_about(Code::kMismatch, group, static_cast<std::size_t>(different - offers.begin()),
                     std::string("made its gradient pipeline with other ") +
                         (different->parameters != first.parameters ? "parameters" : "options") +
                         " than rank 0");
}

}  // namespace paceline
