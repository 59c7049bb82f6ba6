// Ranks as threads of one process that share nameless files.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "comm/base/unique_fd.h"

namespace paceline::probe {

/// A file in memory that has a path while this lives.
class NamelessFile {
 public:
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

 private:
  UniqueFd fd_{::memfd_create("test", MFD_CLOEXEC)};
};

/// Calls `body(rank)` for each, all at once.
template <class Body>
void run_ranks(int ranks, Body body) {
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&body, rank] { body(rank); });
}

}  // namespace paceline::probe
