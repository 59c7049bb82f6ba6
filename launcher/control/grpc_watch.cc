#include "launcher/control/grpc_watch.h"

#include <utility>

#include "launcher/channel/grpc_process.h"

namespace paceline::launcher {

std::shared_ptr<WatchStream> WatchStream::make(std::function<void(WatchStream*)> gone) {
  std::shared_ptr<WatchStream> stream(new WatchStream(std::move(gone)));
  stream->self_ = stream;
  return stream;
}

void WatchStream::offer(const WatchedSnapshot& snapshot) {
  const NoSignals guard;
  {
    const std::lock_guard lock(mutex_);
    next_ = snapshot;
  }
  go_on();
}

void WatchStream::refuse(const grpc::Status& why) {
  const NoSignals guard;
  {
    const std::lock_guard lock(mutex_);
    if (!end_) end_ = why;
  }
  go_on();
}

void WatchStream::OnWriteDone(bool ok) {
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok && !end_) end_ = grpc::Status::CANCELLED;
    if (written_.is_last && !end_) end_ = grpc::Status::OK;
  }
  go_on();
}

// The end waits for the write under way, and there is one write at a time.
void WatchStream::go_on() {
  std::optional<grpc::Status> end;
  {
    const std::lock_guard lock(mutex_);
    if (writing_ || finished_ || (!end_ && !next_)) return;
    end = end_;
    finished_ = end_.has_value();
    writing_ = !finished_;
    if (writing_) written_ = *std::exchange(next_, std::nullopt);
  }
  if (end) return Finish(*end);
  StartWrite(&written_.bytes);
}

void WatchStream::OnDone() {
  gone_(this);
  // The last owner may be this one.
  const std::shared_ptr<WatchStream> self = std::exchange(self_, nullptr);
}

}  // namespace paceline::launcher
