// How the ranks of a check agree on what comes next: texts to and from rank 0, and from nobody to
// anybody else, so that a broken way between two others does not matter.
#pragma once

#include <string>
#include <vector>

#include <paceline/communicator.h>
#include <paceline/status.h>

namespace paceline::probe {

class Control {
 public:
  /// `communicator` is borrowed. One thread; every call is collective and has its deadline.
  explicit Control(Communicator& communicator) : communicator_(communicator) {}

  int rank() const { return communicator_.rank(); }
  int size() const { return communicator_.size(); }
  bool leads() const { return rank() == 0; }

  /// Every rank's text, by rank, at rank 0; nothing at the others.
  Result<std::vector<std::string>> gather(const std::string& own);
  /// Rank 0's text, for all.
  Result<std::string> share(const std::string& text);

 private:
  Status send(const std::string& text, int peer);
  Result<std::string> receive(int peer);

  Communicator& communicator_;
};

}  // namespace paceline::probe
