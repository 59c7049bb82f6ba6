#include "collectives/gradient/low_rank_bases.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

namespace paceline {
namespace {

Status damaged() {
  return {Code::kInvalidArgument, Scope::kOperation, "its part for PowerSGD is damaged"};
}

}  // namespace

// The elements of the gradient in `span`, which may begin before it and end in what pads it.
LowRankPart LowRankBases::part_at(std::size_t gradient, const ByteSpan& span) const {
  const std::size_t whole = arena_.of(gradient).size() / sizeof(float);
  const std::size_t origin = arena_.place(gradient).begin / sizeof(float);
  const std::size_t begin = std::max(span.begin / sizeof(float), origin);
  const std::size_t end = std::min(span.end() / sizeof(float), origin + whole);
  if (begin >= end) return {};
  const std::size_t known = arena_.columns(gradient);
  const std::size_t columns = known > 0 ? known : MatrixShape::square_columns(whole);
  return {.begin = begin,
          .shape = MatrixShape::of(end - begin, columns, most_rank_, (begin - origin) % columns)};
}

std::vector<LowRankPart> LowRankBases::parts_of(const Bucket& bucket) const {
  std::vector<LowRankPart> parts;
  for (const ByteSpan& span : bucket.spans) {
    for (const std::size_t gradient : bucket.gradients) {
      const LowRankPart part = part_at(gradient, span);
      if (part.shape.count > 0) parts.push_back(part);
    }
  }
  return parts;
}

void LowRankBases::set_parts(std::span<const LowRankPart> parts) {
  Bases bases;
  for (const LowRankPart& part : parts) {
    if (!part.shape.pays()) continue;
    Basis basis{.shape = part.shape, .floats = std::vector<float>(part.shape.q_floats())};
    begin_from(bases_, part, basis.floats);
    basis.committed = basis.floats;
    bases.emplace(part.begin, std::move(basis));
  }
  keep_others(bases_, bases);
  bases_ = std::move(bases);
}

// The first that ends behind `begin`, if that begins before `end`.
LowRankBases::Bases::const_iterator LowRankBases::first_common(const Bases& bases,
                                                               std::size_t begin, std::size_t end) {
  auto at = bases.upper_bound(begin);
  if (at != bases.begin() && std::prev(at)->first + std::prev(at)->second.shape.count > begin) --at;
  return at != bases.end() && at->first < end ? at : bases.end();
}

void LowRankBases::begin_from(const Bases& old, const LowRankPart& part,
                              std::vector<float>& basis) {
  const Basis* nearest = nullptr;
  std::size_t most = 0;
  for (auto at = first_common(old, part.begin, part.end());
       at != old.end() && at->first < part.end(); ++at) {
    const auto& [begin, one] = *at;
    const std::size_t common =
        std::min(begin + one.shape.count, part.end()) - std::max(begin, part.begin);
    if (one.shape.columns != part.shape.columns || common <= most) continue;
    nearest = &one;
    most = common;
  }
  std::ranges::fill(basis, 0.0F);
  if (nearest != nullptr)
    std::copy_n(nearest->floats.begin(), std::min(basis.size(), nearest->floats.size()),
                basis.begin());
  // What was orthonormal stays as it is, to the last bit.
  if (nearest == nullptr || nearest->floats.size() < basis.size())
    complete_basis(basis, part.shape.columns, seed_of(part));
}

void LowRankBases::keep_others(Bases& old, Bases& bases) {
  std::erase_if(old, [&](const auto& one) {
    return first_common(bases, one.first, one.first + one.second.shape.count) != bases.end();
  });
  bases.merge(old);
}

void LowRankBases::commit() {
  for (auto& [begin, basis] : bases_) basis.committed = basis.floats;
}

void LowRankBases::roll_back() {
  for (auto& [begin, basis] : bases_) std::ranges::copy(basis.committed, basis.floats.begin());
}

void LowRankBases::save(Bytes& into) const {
  ByteWriter writer(into);
  writer.put(std::uint64_t{bases_.size()});
  for (const auto& [begin, basis] : bases_) {
    writer.put(std::uint64_t{begin});
    writer.put(std::uint64_t{basis.shape.count});
    writer.put_bytes(std::as_bytes(std::span(basis.committed)));
  }
}

Result<LowRankBases::Bases> LowRankBases::parse(ByteView saved) const {
  ByteReader reader(saved);
  Bases bases;
  std::size_t free_from = 0;
  for (auto left = reader.get<std::uint64_t>(); left > 0 && reader.ok(); --left) {
    const auto begin = reader.get<std::uint64_t>(), count = reader.get<std::uint64_t>();
    const std::size_t elements = arena_.bytes() / sizeof(float);
    if (begin < free_from || begin >= elements || count > elements - begin) return damaged();
    const LowRankPart part =
        part_at(arena_.gradient_at(begin * sizeof(float)),
                {.begin = begin * sizeof(float), .bytes = count * sizeof(float)});
    if (part.begin != begin || part.shape.count != count || !part.shape.pays()) return damaged();
    std::vector<float> floats(part.shape.q_floats());
    const ByteView bytes = reader.take(floats.size() * sizeof(float));
    if (!reader.ok()) return damaged();
    std::memcpy(floats.data(), bytes.data(), bytes.size());
    if (!std::ranges::all_of(floats, [](float one) { return std::abs(one) <= 2; }))
      return damaged();
    free_from = part.end();
    bases.emplace(begin, Basis{.shape = part.shape, .floats = floats, .committed = floats});
  }
  if (!reader.complete()) return damaged();
  return bases;
}

// In place: buckets know where their bases lie.
Status LowRankBases::load(ByteView saved) {
  Result<Bases> loaded = parse(saved);
  if (!loaded.ok()) return loaded.status();
  for (auto& [begin, basis] : bases_)
    begin_from(*loaded, {.begin = begin, .shape = basis.shape}, basis.floats);
  keep_others(*loaded, bases_);
  commit();
  return {};
}

}  // namespace paceline
