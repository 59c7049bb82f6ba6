// Parts of a job that are left out to see how fast it would be without their cost. The results of
// such a job are wrong on purpose (docs/telemetry.md, Ceilings). A value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace paceline {

struct Ablation {
  bool communication = false;  ///< operations end at once, without messages (backend/ablated.h)
  bool input = false;          ///< programs keep a batch (input_is_repeated() of paceline/steps.h)

  /// "comm", "input" or both with a comma; each at most once. None: another text.
  static std::optional<Ablation> parse(std::string_view text);

  bool is_any() const { return communication || input; }
  /// As parse() reads it; empty: nothing is left out.
  std::string to_text() const;
  /// "without communication", "with repeated input", or both.
  std::string words() const;

  bool operator==(const Ablation&) const = default;
};

}  // namespace paceline
