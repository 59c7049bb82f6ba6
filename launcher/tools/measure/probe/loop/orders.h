// What a rank that measures is told to do, and how it is written on its command line. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>
#include <paceline/types.h>

namespace paceline::probe {

struct Orders {
  std::string operation = "all_reduce";  ///< a name of operations()
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  bool in_place = true;
  bool registered = false;  ///< arrays lie in memory that peers reach, where the library has it
  bool on_gpu = false;      ///< arrays lie in the memory of GPUs
  bool cold = false;        ///< caches are emptied before each sample
  bool check = false;       ///< results are compared, not only read
  bool limits = true;       ///< measure what memory and flags allow, too
  std::size_t low_bytes = 4;
  std::size_t high_bytes = std::size_t{256} << 20;
  std::size_t factor = 2;  ///< from one size to the next; at least 2
  int time_ms = 300;    ///< spent on a size, where the least number of samples does not take more
  std::string meeting;  ///< shared file; empty: ranks meet by means of what is measured
  std::string raw;      ///< shared file of the loop without library; empty: the library
  std::string parts;    ///< a name of InParts::names(), for an all_reduce in parts; empty: whole
  std::string turns;    ///< shared file that says whose turn it is; empty: nobody else measures
  int contender = 0;    ///< which of `contenders` this program is, where they measure in turn
  int contenders = 1;
  int rounds = 1;  ///< in turn: how often each size is measured, a line each time

  /// Whole elements from low_bytes to high_bytes; {0} where the operation has no elements.
  std::vector<std::size_t> sizes() const;

  bool operator==(const Orders&) const = default;
};

/// "name=value" words; a value that is the default is left out.
std::vector<std::string> to_words(const Orders& orders);
/// Their inverse. An error names the word.
Result<Orders> parse_orders(std::span<const std::string> words);

}  // namespace paceline::probe
