#include "tests/interleave/model.h"

#include <algorithm>

namespace paceline::testing {
namespace {

template <class Number>
void append(std::string& key, const std::vector<Number>& numbers) {
  for (const Number number : numbers)
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

void ModelMemory::View::join(const View& other) {
  for (std::size_t i = 0; i < other.seen.size(); ++i) seen[i] = std::max(seen[i], other.seen[i]);
  for (std::size_t i = 0; i < other.clock.size(); ++i)
    clock[i] = std::max(clock[i], other.clock[i]);
}

ModelMemory::ModelMemory(int threads, std::size_t locations, std::size_t regions)
    : histories_(locations), regions_(regions) {
  const auto count = static_cast<std::size_t>(threads);
  const View nothing{.seen = std::vector<std::uint32_t>(locations, 0),
                     .clock = std::vector<std::uint32_t>(count, 0)};
  views_.assign(count, nothing);
  fences_ = nothing;
  for (auto& history : histories_) history.push_back({.value = 0, .carried = nothing});
  for (Region& region : regions_) region.read_at.assign(count, 0);
}

std::size_t ModelMemory::first_visible(int thread, std::size_t location) const {
  return views_[static_cast<std::size_t>(thread)].seen[location];
}

std::uint64_t ModelMemory::load_acquire(int thread, std::size_t location, std::size_t place) {
  View& view = views_[static_cast<std::size_t>(thread)];
  const Store& store = histories_[location][place];
  view.seen[location] = static_cast<std::uint32_t>(place);
  view.join(store.carried);
  return store.value;
}

std::uint64_t ModelMemory::load_relaxed(int thread, std::size_t location, std::size_t place) {
  views_[static_cast<std::size_t>(thread)].seen[location] = static_cast<std::uint32_t>(place);
  return histories_[location][place].value;
}

std::uint64_t ModelMemory::exchange_relaxed(int thread, std::size_t location, std::uint64_t value) {
  const std::uint64_t last = histories_[location].back().value;
  store_relaxed(thread, location, value);
  return last;
}

// What the last store carried is carried on: a release sequence.
std::uint64_t ModelMemory::fetch_add_acq_rel(int thread, std::size_t location,
                                             std::uint64_t value) {
  const std::uint64_t last = load_acquire(thread, location, histories_[location].size() - 1);
  store_release(thread, location, last + value);
  return last;
}

void ModelMemory::store(int thread, std::size_t location, std::uint64_t value, View carried) {
  auto& history = histories_[location];
  views_[static_cast<std::size_t>(thread)].seen[location] =
      static_cast<std::uint32_t>(history.size());
  history.push_back({.value = value, .carried = std::move(carried)});
}

void ModelMemory::store_release(int thread, std::size_t location, std::uint64_t value) {
  View& view = views_[static_cast<std::size_t>(thread)];
  View carried = view;
  carried.seen[location] = static_cast<std::uint32_t>(histories_[location].size());
  store(thread, location, value, std::move(carried));
}

void ModelMemory::store_relaxed(int thread, std::size_t location, std::uint64_t value) {
  store(thread, location, value, {});
}

void ModelMemory::fence_seq_cst(int thread) {
  View& view = views_[static_cast<std::size_t>(thread)];
  view.join(fences_);
  fences_.join(view);
}

void ModelMemory::fence_everywhere(int thread) {
  fence_seq_cst(thread);
  for (std::size_t other = 0; other < views_.size(); ++other)
    fence_seq_cst(static_cast<int>(other));
  fence_seq_cst(thread);
}

void ModelMemory::write(int thread, std::size_t region, std::uint64_t value) {
  Region& data = regions_[region];
  View& view = views_[static_cast<std::size_t>(thread)];
  for (std::size_t reader = 0; reader < data.read_at.size(); ++reader) {
    if (data.read_at[reader] > view.clock[reader]) {
      throw ModelFault{"rank " + std::to_string(thread) + " overwrites " +
                       std::to_string(data.value) + " while rank " + std::to_string(reader) +
                       " may be reading it"};
    }
  }
  if (data.writer >= 0 && data.written_at > view.clock[static_cast<std::size_t>(data.writer)])
    throw ModelFault{"two ranks write at once"};
  data.value = value;
  data.writer = thread;
  data.written_at = ++view.clock[static_cast<std::size_t>(thread)];
}

void ModelMemory::read(int thread, std::size_t region, std::uint64_t expected) {
  Region& data = regions_[region];
  View& view = views_[static_cast<std::size_t>(thread)];
  const bool ordered =
      data.writer < 0 || data.written_at <= view.clock[static_cast<std::size_t>(data.writer)];
  if (!ordered || data.value != expected) {
    throw ModelFault{"rank " + std::to_string(thread) + " reads " + std::to_string(data.value) +
                     (ordered ? "" : ", perhaps half written,") + " for " +
                     std::to_string(expected)};
  }
  data.read_at[static_cast<std::size_t>(thread)] = ++view.clock[static_cast<std::size_t>(thread)];
}

void ModelMemory::append_key(std::string& key) const {
  const auto append_view = [&key](const View& view) {
    append(key, view.seen);
    append(key, view.clock);
  };
  for (const View& view : views_) append_view(view);
  append_view(fences_);
  for (const auto& history : histories_) {
    append(key, std::vector<std::uint64_t>{history.size()});
    for (const Store& store : history) {
      append(key, std::vector<std::uint64_t>{store.value});
      append_view(store.carried);
    }
  }
  for (const Region& region : regions_) {
    append(key, std::vector<std::uint64_t>{region.value, region.written_at});
    append(key, region.read_at);
  }
}

}  // namespace paceline::testing
