// The files of `paceline run --output-dir`: where they lie, and how they come to be there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"

namespace paceline::launcher {

/// Two files for each rank of this host, in a job of 11 to 100 ranks:
///
///   <directory>/rank.07/stdout
///   <directory>/rank.07/stderr
struct OutputPlace {
  std::string directory;  ///< absolute
  std::uint32_t world_size = 1;
  std::vector<std::uint32_t> ranks;
};

/// "rank.07": padded to the width of the highest rank, so that the folders sort.
std::string rank_folder(std::uint32_t rank, std::uint32_t world_size);

struct OutputFile {
  std::string path;
  UniqueFd fd;  ///< appends
};

struct RankFiles {
  OutputFile output;
  OutputFile error;
};

/// Makes the files, in the order of the ranks, and the directories that they need. Every file is
/// new: the output of another job is neither overwritten nor mixed with this one's, and of two
/// jobs that begin at once in one directory exactly one gets its files. After an error none of
/// them is left.
Result<std::vector<RankFiles>> make_output_files(const OutputPlace& place);

}  // namespace paceline::launcher
