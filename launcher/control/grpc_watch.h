// A stream of snapshots to one client of the control service. Only the module includes it.
//
//   offer() ──> nothing is under way ──> written at once
//           ──> a write is under way ──> kept in place of an earlier one, written afterwards
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include <grpcpp/grpcpp.h>

namespace paceline::launcher {

/// A snapshot in the form that gRPC sends; all streams share its bytes.
struct WatchedSnapshot {
  grpc::ByteBuffer bytes;
  bool is_last = false;
};

/// Any thread. The stream owns itself until its call has ended.
class WatchStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  /// `gone` is called once, when the call has ended.
  static std::shared_ptr<WatchStream> make(std::function<void(WatchStream*)> gone);

  void offer(const WatchedSnapshot& snapshot);
  void refuse(const grpc::Status& why);

 private:
  explicit WatchStream(std::function<void(WatchStream*)> gone) : gone_(std::move(gone)) {}
  void OnWriteDone(bool ok) override;
  void OnCancel() override { refuse(grpc::Status::CANCELLED); }
  void OnDone() override;
  void go_on();

  const std::function<void(WatchStream*)> gone_;
  std::shared_ptr<WatchStream> self_;  // owners: this until OnDone, the server, a running call
  std::mutex mutex_;                   // of what follows
  std::optional<WatchedSnapshot> next_;
  WatchedSnapshot written_;  // by the write under way
  bool writing_ = false;
  std::optional<grpc::Status> end_;  // no write begins any more
  bool finished_ = false;
};

}  // namespace paceline::launcher
