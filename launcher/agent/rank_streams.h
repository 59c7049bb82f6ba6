// Standard input, output and error of this agent's ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"
#include "launcher/agent/input_pipe.h"
#include "launcher/agent/output_files.h"
#include "launcher/agent/output_writer.h"
#include "launcher/agent/rank_output.h"
#include "launcher/agent/rank_service.h"
#include "launcher/agent/rank_terminal.h"
#include "launcher/channel/messages.pb.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Belongs to the loop's thread.
class RankStreams final : public RankService {
 public:
  using Tell = std::function<void(const messages::FromAgent&)>;

  /// `tell` gets what is for the head: the output of ranks that it shows, notices of files that
  /// cannot be written, a Failure when that lasts too long, and how much of its input the rank has
  /// taken. `standard_input` goes to the rank that the start names, unless its input comes by
  /// take_input().
  RankStreams(EventLoop& loop, const messages::Start& start, UniqueFd standard_input, Tell tell);

  /// Makes the files of all ranks in the output directory. If a file exists already, no rank
  /// starts.
  Status prepare(const messages::Start& start) override;
  /// Adds the rank's standard input, output and error.
  Status equip(int local_rank, RankEquipment& rank) override;
  /// Passes on the output of the rank so far, as far as its files and the head take it.
  void ended(const messages::ProcessExited& exited, messages::RankExited& report) override;

  /// Passes on input, or the size of the head's terminal, to the rank that the Start names.
  void take_input(const messages::ToAgent& message);

  /// Nobody is left who could write: passes on the rest, and lines without newline. `finished` is
  /// called, at once or later, when the head and the files have it all.
  void finish(std::function<void()> finished);
  /// While the head takes nothing, what the ranks write for it waits, and so in the end do they.
  void set_reading(bool on);

 private:
  struct Outputs {
    std::unique_ptr<RankOutput> output;
    std::unique_ptr<RankOutput> error;
  };
  Result<UniqueFd> open_input(std::uint32_t rank);
  Status open_terminal(InputPipe::Taken taken, UniqueFd& into);
  void show_on_terminal(std::string_view text);
  Result<UniqueFd> open_output(std::uint32_t rank, messages::Stream stream,
                               std::unique_ptr<RankOutput>& into);
  std::size_t place_of(std::uint32_t rank) const;
  bool on_console(std::uint32_t rank) const;
  std::unique_ptr<OutputWriter> writer(std::uint32_t rank, messages::Stream stream);
  void tell_output(std::uint32_t rank, messages::Stream stream, std::string_view text,
                   messages::Ending ending);
  void tell_if_finished();

  EventLoop& loop_;
  const messages::Start start_;
  UniqueFd standard_input_;
  std::unique_ptr<InputPipe> input_;        // where it comes by messages
  std::unique_ptr<RankTerminal> terminal_;  // where these come from a terminal
  Tell tell_;
  WriteRetry retry_;
  std::vector<RankFiles> files_;  // by local rank; each goes to its writer
  std::vector<Outputs> outputs_;  // by local rank
  std::size_t open_ = 0;          // streams that have not ended
  std::function<void()> finished_;
  bool reading_ = true;
};

}  // namespace paceline::launcher
