// Runs in the agent.
#include "launcher/agent/rank_streams.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>

#include "comm/base/try.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

WriteRetry::Options retry_options(const RankStreams::Tell& tell) {
  return {.notice =
              [tell](const std::string& text) {
                messages::FromAgent message;
                message.mutable_notice()->set_text(text);
                tell(message);
              },
          .give_up =
              [tell](const std::string& text) {
                messages::FromAgent message;
                message.mutable_failure()->set_text(text);
                tell(message);
              }};
}

}  // namespace

RankStreams::RankStreams(EventLoop& loop, const messages::Start& start, UniqueFd standard_input,
                         Tell tell)
    : loop_(loop),
      start_(start),
      standard_input_(std::move(standard_input)),
      tell_(std::move(tell)),
      retry_(loop, retry_options(tell_)) {}

// ---- The start -----------------------------------------------------------------------------

Status RankStreams::equip(int local_rank, RankEquipment& equipment) {
  const std::uint32_t rank = start_.ranks(local_rank);
  Outputs& outputs = outputs_.emplace_back();
  PACELINE_TRY_ASSIGN(UniqueFd input, open_input(rank));
  PACELINE_TRY_ASSIGN(UniqueFd output,
                      open_output(rank, messages::STANDARD_OUTPUT, outputs.output));
  PACELINE_TRY_ASSIGN(UniqueFd error, open_output(rank, messages::STANDARD_ERROR, outputs.error));
  for (UniqueFd* const descriptor : {&input, &output, &error})
    equipment.add(std::move(*descriptor));
  return {};
}

Result<UniqueFd> RankStreams::open_input(std::uint32_t rank) {
  if (!start_.has_stdin_rank() || start_.stdin_rank() != rank) return open_null();
  if (!start_.input_comes()) return std::move(standard_input_);
  UniqueFd read_end;
  const auto taken = [this](std::size_t bytes, bool closed) {
    messages::FromAgent message;
    message.set_epoch(start_.epoch());
    message.mutable_input_taken()->set_bytes(static_cast<std::uint32_t>(bytes));
    message.mutable_input_taken()->set_closed(closed);
    tell_(message);
  };
  if (start_.has_input_terminal()) {
    PACELINE_TRY(open_terminal(taken, read_end));
    return read_end;
  }
  PACELINE_TRY_ASSIGN(input_, InputPipe::make(loop_, taken, read_end));
  return read_end;
}

Status RankStreams::open_terminal(InputPipe::Taken taken, UniqueFd& into) {
  PACELINE_TRY_ASSIGN(
      terminal_,
      RankTerminal::make(loop_,
                         {.like = start_.input_terminal(),
                          .taken = std::move(taken),
                          .shows = [this](std::string_view text) { show_on_terminal(text); }},
                         into));
  return Status();
}

Status RankStreams::prepare(const messages::Start&) {
  if (start_.output_directory().empty()) return Status();
  PACELINE_TRY_ASSIGN(files_,
                      make_output_files({.directory = start_.output_directory(),
                                         .world_size = start_.world_size(),
                                         .ranks = {start_.ranks().begin(), start_.ranks().end()}}));
  return Status();
}

// What goes nowhere never reaches the agent.
Result<UniqueFd> RankStreams::open_output(std::uint32_t rank, messages::Stream stream,
                                          std::unique_ptr<RankOutput>& into) {
  RankOutput::Options options;
  options.file = writer(rank, stream);
  if (on_console(rank)) {
    options.console = [this, rank, stream](std::string_view text, messages::Ending ending) {
      tell_output(rank, stream, text, ending);
    };
    if (start_.split_lines())
      options.splitter.emplace(LineSplitter::Options{.transient = start_.terminal()});
    options.shows_prompts =
        start_.terminal() && start_.has_input_terminal() && start_.stdin_rank() == rank;
    // The echo of what the rank has read comes before its answer.
    if (options.shows_prompts) options.before_read = [this] { terminal_->drain(); };
  }
  if (!options.file && !options.console) return open_null();
  options.ended = [this] {
    --open_;
    tell_if_finished();
  };
  PACELINE_TRY_ASSIGN(Pipe pipe, make_pipe());
  ::fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK);
  ++open_;
  into = std::make_unique<RankOutput>(loop_, std::move(pipe.read_end), std::move(options));
  into->set_console_ready(reading_);
  return std::move(pipe.write_end);
}

// Its local rank.
std::size_t RankStreams::place_of(std::uint32_t rank) const {
  const auto& ranks = start_.ranks();
  return static_cast<std::size_t>(std::lower_bound(ranks.begin(), ranks.end(), rank) -
                                  ranks.begin());
}

bool RankStreams::on_console(std::uint32_t rank) const {
  const auto place = static_cast<int>(place_of(rank));
  return place >= start_.on_console_size() || start_.on_console(place);
}

std::unique_ptr<OutputWriter> RankStreams::writer(std::uint32_t rank, messages::Stream stream) {
  const std::size_t place = place_of(rank);
  if (place >= files_.size()) return nullptr;
  RankFiles& files = files_[place];
  OutputFile& file = stream == messages::STANDARD_OUTPUT ? files.output : files.error;
  return std::make_unique<OutputWriter>(retry_, std::move(file));
}

// ---- The job -------------------------------------------------------------------------------

void RankStreams::take_input(const messages::ToAgent& message) {
  if (terminal_ && message.has_window_size()) terminal_->resize(message.window_size());
  const messages::Input& input = message.input();
  if (terminal_ && !input.text().empty()) terminal_->write(input.text());
  if (terminal_ && input.ends()) terminal_->end();
  if (!input_) return;
  if (!input.text().empty()) input_->write(input.text());
  if (input.ends()) input_->end();
}

// The echo of a newline ends the line of a prompt.
void RankStreams::show_on_terminal(std::string_view text) {
  messages::FromAgent message;
  message.set_terminal_output(std::string(text));
  tell_(message);
  if (text.find('\n') == std::string_view::npos) return;
  const std::size_t place = place_of(start_.stdin_rank());
  if (place >= outputs_.size()) return;
  for (const auto* output : {&outputs_[place].output, &outputs_[place].error})
    if (*output) (*output)->end_prompt();
}

void RankStreams::tell_output(std::uint32_t rank, messages::Stream stream, std::string_view text,
                              messages::Ending ending) {
  messages::FromAgent message;
  message.mutable_output()->set_rank(rank);
  message.mutable_output()->set_stream(stream);
  message.mutable_output()->set_ending(ending);
  message.mutable_output()->set_text(text.data(), text.size());
  tell_(message);
}

void RankStreams::ended(const messages::ProcessExited& exited, messages::RankExited&) {
  const std::uint32_t rank = exited.rank();
  const std::size_t place = place_of(rank);
  if (place >= outputs_.size()) return;
  if (outputs_[place].output) outputs_[place].output->drain();
  if (outputs_[place].error) outputs_[place].error->drain();
}

void RankStreams::set_reading(bool on) {
  if (std::exchange(reading_, on) == on) return;
  if (terminal_) terminal_->set_reading(on);
  for (const Outputs& outputs : outputs_) {
    if (outputs.output) outputs.output->set_console_ready(on);
    if (outputs.error) outputs.error->set_console_ready(on);
  }
}

// ---- The end -------------------------------------------------------------------------------

void RankStreams::finish(std::function<void()> finished) {
  for (const Outputs& outputs : outputs_) {
    if (outputs.output) outputs.output->finish();
    if (outputs.error) outputs.error->finish();
  }
  finished_ = std::move(finished);
  tell_if_finished();
}

void RankStreams::tell_if_finished() {
  if (open_ > 0 || !finished_) return;
  retry_.settle();
  std::exchange(finished_, nullptr)();
}

}  // namespace paceline::launcher
