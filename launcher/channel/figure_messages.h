// Figures of telemetry/job/figures.h in messages: those that are known. Pure.
#pragma once

#include <cmath>
#include <cstddef>

#include "launcher/channel/messages.pb.h"
#include "telemetry/job/figures.h"

namespace paceline::launcher {

using FigureMessages = google::protobuf::RepeatedPtrField<messages::Figure>;

template <class Kind, std::size_t kCount>
void add_figures(const Figures<Kind, kCount>& figures, FigureMessages& to) {
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto value = figures.get(static_cast<Kind>(i));
    if (!value) continue;
    messages::Figure& figure = *to.Add();
    figure.set_kind(static_cast<std::uint32_t>(i));
    figure.set_value(*value);
  }
}

/// Values that no figure can have are left out: all are finite and not negative.
template <class Kind, std::size_t kCount>
Figures<Kind, kCount> figures_of(const FigureMessages& from) {
  Figures<Kind, kCount> figures;
  for (const messages::Figure& one : from)
    if (one.kind() < kCount && std::isfinite(one.value()) && one.value() >= 0)
      figures.set(static_cast<Kind>(one.kind()), one.value());
  return figures;
}

}  // namespace paceline::launcher
