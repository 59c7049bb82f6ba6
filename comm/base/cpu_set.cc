#include "comm/base/cpu_set.h"

#include <algorithm>
#include <bit>

#include "comm/base/assert.h"
#include "comm/base/text.h"

namespace paceline {
namespace {

constexpr std::size_t kWordCpus = 64;

std::uint64_t bit_of(std::size_t cpu) { return std::uint64_t{1} << (cpu % kWordCpus); }

// "5" or "2-7", and nothing behind it.
bool add_range(std::string_view text, CpuSet& into) {
  const std::size_t dash = text.find('-');
  const auto first = parse_number<std::size_t>(text.substr(0, dash));
  const auto last = dash == text.npos ? first : parse_number<std::size_t>(text.substr(dash + 1));
  if (!first || !last || *first > *last || *last >= CpuSet::kMostCpus) return false;
  for (std::size_t cpu = *first; cpu <= *last; ++cpu) into.add(cpu);
  return true;
}

}  // namespace

std::optional<CpuSet> CpuSet::parse(std::string_view text) {
  CpuSet set;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (!add_range(text.substr(0, comma), set)) return std::nullopt;
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return std::nullopt;
  }
  return set;
}

void CpuSet::add(std::size_t cpu) {
  PACELINE_ASSERT(cpu < kMostCpus);
  const std::size_t word = cpu / kWordCpus;
  if (words_.size() <= word) words_.resize(word + 1);
  words_[word] |= bit_of(cpu);
}

void CpuSet::add(const CpuSet& others) {
  words_.resize(std::max(words_.size(), others.words_.size()));
  for (std::size_t i = 0; i < others.words_.size(); ++i) words_[i] |= others.words_[i];
}

void CpuSet::remove(const CpuSet& others) {
  for (std::size_t i = 0; i < std::min(words_.size(), others.words_.size()); ++i)
    words_[i] &= ~others.words_[i];
  trim();
}

void CpuSet::trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

bool CpuSet::has(std::size_t cpu) const {
  const std::size_t word = cpu / kWordCpus;
  return word < words_.size() && (words_[word] & bit_of(cpu)) != 0;
}

bool CpuSet::has_all(const CpuSet& others) const { return (*this & others) == others; }

bool CpuSet::has_any(const CpuSet& others) const {
  const std::size_t words = std::min(words_.size(), others.words_.size());
  for (std::size_t i = 0; i < words; ++i)
    if ((words_[i] & others.words_[i]) != 0) return true;
  return false;
}

int CpuSet::count() const {
  int count = 0;
  for (const std::uint64_t word : words_) count += std::popcount(word);
  return count;
}

std::size_t CpuSet::first() const {
  PACELINE_ASSERT(!is_empty());
  std::size_t word = 0;
  while (words_[word] == 0) ++word;
  return word * kWordCpus + static_cast<std::size_t>(std::countr_zero(words_[word]));
}

std::vector<std::size_t> CpuSet::cpus() const {
  std::vector<std::size_t> all;
  for (std::size_t cpu = 0; cpu < words_.size() * kWordCpus; ++cpu)
    if (has(cpu)) all.push_back(cpu);
  return all;
}

std::string CpuSet::to_text() const {
  std::string text;
  const std::size_t end = words_.size() * kWordCpus;
  for (std::size_t cpu = 0; cpu < end; ++cpu) {
    if (!has(cpu)) continue;
    const std::size_t first = cpu;
    while (has(cpu + 1)) ++cpu;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (cpu > first) text.append("-").append(std::to_string(cpu));
  }
  return text;
}

CpuSet operator&(const CpuSet& a, const CpuSet& b) {
  CpuSet both = a;
  CpuSet only_a = a;
  only_a.remove(b);
  both.remove(only_a);
  return both;
}

}  // namespace paceline
