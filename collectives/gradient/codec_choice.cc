#include "collectives/gradient/codec_choice.h"

#include "comm/base/text.h"

namespace paceline {
namespace {

// Of e encoded bytes: how many bytes of a plain all-reduce take as long on the wire.
double as_all_reduced(Codec codec, double encoded_bytes, int ranks) {
  return codec == Codec::kTopK ? encoded_bytes * ranks / 2 : encoded_bytes;
}

// What another one has to be below to take the place.
double within(double bound, const ChoiceRules& rules) { return bound * (1 - rules.margin); }

bool is_near(const CodecFigures& figures, const ChoiceRules& rules) {
  return figures.relative_error <= rules.error_budget;
}

std::string percent(double share) { return with_unit(100 * share, "%"); }

// What the bucket takes with the codec that it uses now, and with kNone where that has to go.
struct Use {
  Codec codec = Codec::kNone;
  double us = 0;
};

Use current_use(Codec current, std::span<const CodecFigures> codecs, const CodedBucket& bucket,
                const ChoiceRules& rules) {
  const Use plain = {.codec = Codec::kNone, .us = plain_us(bucket)};
  for (const CodecFigures& figures : codecs) {
    if (figures.codec != current || current == Codec::kNone) continue;
    const double us = times_of(figures, bucket).total_us();
    const bool stays = us <= plain.us && is_near(figures, rules);
    return stays ? Use{.codec = current, .us = us} : plain;
  }
  return plain;
}

}  // namespace

double plain_us(const CodedBucket& bucket) {
  return bucket.path.alpha_us + bucket.path.beta_us * static_cast<double>(bucket.bytes);
}

CodecTimes times_of(const CodecFigures& figures, const CodedBucket& bucket) {
  const auto bytes = static_cast<double>(bucket.bytes);
  const double moved = as_all_reduced(figures.codec, figures.encoded_share * bytes, bucket.ranks);
  return {.work_us = (figures.encode_us_per_byte + figures.decode_us_per_byte) * bytes,
          .wire_us = figures.operations * bucket.path.alpha_us + bucket.path.beta_us * moved};
}

Codec choose_codec(Codec current, std::span<const CodecFigures> codecs, const CodedBucket& bucket,
                   const ChoiceRules& rules) {
  if (bucket.ranks < 2) return Codec::kNone;
  const Use now = current_use(current, codecs, bucket, rules);
  Use best = {.codec = now.codec, .us = within(now.us, rules)};
  for (const CodecFigures& figures : codecs) {
    if (figures.codec == now.codec || figures.codec == Codec::kNone) continue;
    const double us = times_of(figures, bucket).total_us();
    if (is_near(figures, rules) && us < best.us) best = {.codec = figures.codec, .us = us};
  }
  return best.codec;
}

std::optional<std::string> why_off(const CodecFigures& figures, const CodedBucket& bucket,
                                   const ChoiceRules& rules) {
  const std::string is_off = std::string(name(figures.codec)) + " is off: ";
  if (bucket.ranks < 2) return is_off + "a single rank sends nothing";
  if (!is_near(figures, rules))
    return is_off + "its error of " + percent(figures.relative_error) + " is above the budget of " +
           percent(rules.error_budget);
  const CodecTimes times = times_of(figures, bucket);
  const double plain = plain_us(bucket);
  if (times.total_us() < within(plain, rules)) return std::nullopt;
  return is_off + time_text(times.work_us) + " to encode and decode plus " +
         time_text(times.wire_us) + " on the wire are not faster than " + time_text(plain) +
         " without a codec";
}

}  // namespace paceline
