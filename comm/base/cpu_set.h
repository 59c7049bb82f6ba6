// A set of CPUs, by the kernel's numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

/// A value. Text is the kernel's list form, as in /sys/devices/system/cpu/online: "0-3,8"; the
/// empty set is the empty text.
class CpuSet {
 public:
  /// Numbers are below it, so that no text can ask for much memory.
  static constexpr std::size_t kMostCpus = 65536;

  /// Nothing where it is no such list, or names a CPU beyond kMostCpus.
  static std::optional<CpuSet> parse(std::string_view text);

  /// `cpu` is below kMostCpus.
  void add(std::size_t cpu);
  void add(const CpuSet& others);
  void remove(const CpuSet& others);

  bool has(std::size_t cpu) const;
  bool has_all(const CpuSet& others) const;
  bool has_any(const CpuSet& others) const;
  bool is_empty() const { return words_.empty(); }
  int count() const;
  /// The lowest number; not of an empty set.
  std::size_t first() const;
  /// All of them, ascending.
  std::vector<std::size_t> cpus() const;
  std::string to_text() const;

  bool operator==(const CpuSet&) const = default;

 private:
  void trim();

  std::vector<std::uint64_t> words_;  // the last is not zero
};

/// What is in both.
CpuSet operator&(const CpuSet& a, const CpuSet& b);

}  // namespace paceline
