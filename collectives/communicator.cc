#include <utility>

#include <paceline/communicator.h>

#include "collectives/communicator_core.h"
#include "collectives/requests.h"
#include "comm/base/argument_error.h"
#include "comm/base/text.h"

namespace paceline {
namespace {

// `counts` if there is one for each rank; else none, and the call is refused.
requests::Counts per_rank(const CommunicatorCore* core, requests::Counts counts) {
  const bool fits = core != nullptr && counts.size() == core->group().members.size();
  return fits ? counts : requests::Counts();
}

Status moved_from() { return argument_error("this Communicator was moved from"); }

Status run(CommunicatorCore* core, OperationRequest&& request) {
  if (core == nullptr) [[unlikely]]
    return moved_from();
  return core->run(std::move(request));
}

Work start(CommunicatorCore* core, const OperationRequest& request) {
  if (core == nullptr) [[unlikely]]
    return refused_work(moved_from());
  return core->start(request);
}

}  // namespace

Communicator::Communicator(std::unique_ptr<CommunicatorCore> core) : core_(std::move(core)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&& other) noexcept {
  const Communicator old(std::exchange(core_, std::move(other.core_)));
  return *this;
}
// A forked child has copies of its parent's communicators and of the shared memory. It must not
// send a goodbye in the name of its parent, and must not wait for threads that it does not have. A
// signal handler that calls exit() cannot wait for the code that it has interrupted.
Communicator::~Communicator() {
  if (core_ != nullptr && core_->is_out_of_reach()) (void)core_.release();
}

int Communicator::rank() const { return group().rank; }
int Communicator::size() const { return group().size(); }
const Group& Communicator::group() const {
  static const Group none{.rank = -1};
  return core_ == nullptr ? none : core_->group();
}
CommunicatorStats Communicator::stats() const {
  return core_ == nullptr ? CommunicatorStats() : core_->stats();
}

Status Communicator::close() { return core_ == nullptr ? moved_from() : core_->close(); }
Status Communicator::set_timeout(std::chrono::milliseconds timeout) {
  return core_ == nullptr ? moved_from() : core_->set_timeout(timeout);
}
void Communicator::set_stream(void* stream) {
  if (core_ != nullptr) core_->set_stream(stream);
}
void Communicator::abort() {
  if (core_ != nullptr) core_->abort();
}
Status Communicator::failure() const {
  return core_ == nullptr ? moved_from() : core_->look_for_failure();
}

Status Communicator::wrong_length(std::size_t length, std::size_t needed) {
  return argument_error("an array has " + count_text(length, "element") + ", and must have " +
                        std::to_string(needed));
}

Status Communicator::all_reduce_many(std::span<const Tensor> tensors, DataType type,
                                     ReduceRule rule) {
  return all_reduce_many_async(tensors, type, rule).wait();
}

Work Communicator::all_reduce_many_async(std::span<const Tensor> tensors, DataType type,
                                         ReduceRule rule) {
  if (core_ == nullptr) return refused_work(moved_from());
  return core_->start_many(tensors, requests::all_reduce(nullptr, nullptr, 0, type, rule));
}

// The blocking and the asynchronous form of an operation. `arguments` make its request.
#define PACELINE_OPERATION(name, parameters, arguments)                                       \
  Status Communicator::name parameters { return run(core_.get(), requests::name arguments); } \
  Work Communicator::name##_async parameters {                                                \
    return start(core_.get(), requests::name arguments);                                      \
  }

PACELINE_OPERATION(barrier, (), ())
PACELINE_OPERATION(broadcast, (void* buffer, std::size_t count, DataType type, int root),
                   (buffer, count, type, root))
PACELINE_OPERATION(reduce,
                   (const void* in, void* out, std::size_t count, DataType type, ReduceRule rule,
                    int root),
                   (in, out, count, type, rule, root))
PACELINE_OPERATION(all_reduce,
                   (const void* in, void* out, std::size_t count, DataType type, ReduceRule rule),
                   (in, out, count, type, rule))
PACELINE_OPERATION(reduce_scatter,
                   (const void* in, void* out, std::size_t count, DataType type, ReduceRule rule),
                   (in, out, count, type, rule))
PACELINE_OPERATION(all_gather, (const void* in, void* out, std::size_t count, DataType type),
                   (in, out, count, type))
PACELINE_OPERATION(gather, (const void* in, void* out, std::size_t count, DataType type, int root),
                   (in, out, count, type, root))
PACELINE_OPERATION(scatter, (const void* in, void* out, std::size_t count, DataType type, int root),
                   (in, out, count, type, root))
PACELINE_OPERATION(all_to_all, (const void* in, void* out, std::size_t count, DataType type),
                   (in, out, count, type))
PACELINE_OPERATION(reduce_scatter_v,
                   (const void* in, void* out, std::span<const std::size_t> counts, DataType type,
                    ReduceRule rule),
                   (in, out, per_rank(core_.get(), counts), type, rule))
PACELINE_OPERATION(all_gather_v,
                   (const void* in, void* out, std::span<const std::size_t> counts, DataType type),
                   (in, out, per_rank(core_.get(), counts), type))
PACELINE_OPERATION(gather_v,
                   (const void* in, void* out, std::span<const std::size_t> counts, DataType type,
                    int root),
                   (in, out, per_rank(core_.get(), counts), type, root))
PACELINE_OPERATION(scatter_v,
                   (const void* in, void* out, std::span<const std::size_t> counts, DataType type,
                    int root),
                   (in, out, per_rank(core_.get(), counts), type, root))
PACELINE_OPERATION(all_to_all_v,
                   (const void* in, std::span<const std::size_t> send_counts, void* out,
                    std::span<const std::size_t> recv_counts, DataType type),
                   (in, per_rank(core_.get(), send_counts), out, per_rank(core_.get(), recv_counts),
                    type))
PACELINE_OPERATION(send, (const void* in, std::size_t count, DataType type, int peer),
                   (in, count, type, peer))
PACELINE_OPERATION(receive, (void* out, std::size_t count, DataType type, int peer),
                   (out, count, type, peer))
PACELINE_OPERATION(exchange, (std::span<const Message> messages), (messages))

#undef PACELINE_OPERATION

}  // namespace paceline
