#include "telemetry/operation_book.h"

#include <algorithm>

namespace paceline {
namespace {

// There is one writer.
template <class Number, class Amount>
void add(std::atomic<Number>& to, Amount amount) {
  to.store(to.load(std::memory_order_relaxed) + static_cast<Number>(amount),
           std::memory_order_relaxed);
}

constexpr int kRootBit = 8, kBytesFrom = 9;

std::uint64_t form_of(OperationKind kind, bool is_root, std::uint64_t bytes) {
  return static_cast<std::uint64_t>(kind) | std::uint64_t{is_root} << kRootBit |
         bytes << kBytesFrom;
}

}  // namespace

void OperationBook::note(const Signature& signature, const OperationTimes& times) {
  const std::uint64_t bytes = signature.count * size_of(signature.type);
  Row& row = rows_[static_cast<std::size_t>(signature.kind)];
  add(row.count, 1);
  add(row.bytes, bytes);
  add(row.time_ns, (times.ended - times.called).count());
  add(row.exposed_ns, times.exposed.count());
  if (!is_collective(signature.kind)) return;
  const int level = level_of(signature.sequence);
  Slot& slot = slots_[level][next_[level]++ % kKept];
  const std::uint64_t odd = slot.version.load(std::memory_order_relaxed) | 1;
  slot.version.store(odd, std::memory_order_relaxed);
  slot.sequence.store(signature.sequence, std::memory_order_release);
  slot.called_ns.store(times.called.time_since_epoch().count(), std::memory_order_release);
  slot.ended_ns.store(times.ended.time_since_epoch().count(), std::memory_order_release);
  slot.exposed_ns.store(times.exposed.count(), std::memory_order_release);
  slot.form.store(form_of(signature.kind, times.is_root, bytes), std::memory_order_release);
  slot.version.store(odd + 1, std::memory_order_release);
}

void OperationBook::clear() {
  for (Row& row : rows_) {
    row.count.store(0, std::memory_order_relaxed);
    row.bytes.store(0, std::memory_order_relaxed);
    row.time_ns.store(0, std::memory_order_relaxed);
    row.exposed_ns.store(0, std::memory_order_relaxed);
  }
  std::ranges::fill(next_, 0);
  for (auto& level : slots_)
    for (Slot& slot : level) slot.version.store(0, std::memory_order_relaxed);
}

std::vector<OperationTotals> OperationBook::totals() const {
  std::vector<OperationTotals> totals;
  for (const OperationKind kind : kOperationKinds) {
    const Row& row = rows_[static_cast<std::size_t>(kind)];
    const std::uint64_t count = row.count.load(std::memory_order_relaxed);
    if (count == 0) continue;
    totals.push_back({.kind = kind,
                      .count = count,
                      .bytes = row.bytes.load(std::memory_order_relaxed),
                      .time_ns = row.time_ns.load(std::memory_order_relaxed),
                      .exposed_ns = row.exposed_ns.load(std::memory_order_relaxed)});
  }
  return totals;
}

// A slot that is written meanwhile is left out.
std::vector<OperationSample> OperationBook::samples() const {
  std::vector<OperationSample> samples;
  for (const auto& level : slots_) {
    for (const Slot& slot : level) {
      const std::uint64_t before = slot.version.load(std::memory_order_acquire);
      if (before == 0 || before % 2 != 0) continue;
      const std::uint64_t form = slot.form.load(std::memory_order_acquire);
      const auto kind = static_cast<std::uint8_t>(form);
      const OperationSample sample{.sequence = slot.sequence.load(std::memory_order_acquire),
                                   .kind = static_cast<OperationKind>(kind),
                                   .is_root = (form >> kRootBit & 1) != 0,
                                   .bytes = form >> kBytesFrom,
                                   .called_ns = slot.called_ns.load(std::memory_order_acquire),
                                   .ended_ns = slot.ended_ns.load(std::memory_order_acquire),
                                   .exposed_ns = slot.exposed_ns.load(std::memory_order_acquire)};
      if (slot.version.load(std::memory_order_relaxed) == before && is_known(sample.kind))
        samples.push_back(sample);
    }
  }
  return samples;
}

}  // namespace paceline
