// Gloo over TCP with the algorithms that it chooses; its ranks are started by `paceline run`.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <paceline/status.h>

#include "comm/base/cpus.h"
#include "comm/base/environment.h"
#include "comm/base/try.h"
#include "comm/base/with_type.h"
#include "launcher/tools/measure/probe/loop/rank.h"
#include "launcher/tools/measure/probe/loop/shared_meeting.h"
#include "launcher/tools/measure/probe/loop/subject.h"
#include "tests/peers/peer_main.h"

namespace paceline::peers {
namespace {

/// What Gloo's ranks tell each other before they are connected. Every rank sets as many keys as the
/// others, its host's name and its addresses, each under its own number: so to set is to meet.
class AddressBook final : public gloo::rendezvous::Store {
 public:
  explicit AddressBook(probe::Meeting& meeting) : meeting_(meeting) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    write({key.begin(), key.end()}, kKeyAt);
    write(data, kDataAt);
    const std::vector<std::int64_t> all = meeting_.share(page_).value();
    for (auto page = all.begin(); page != all.end(); page += kPage) {
      const std::vector<char> name = read(&*page + kKeyAt);
      entries_[std::string(name.begin(), name.end())] = read(&*page + kDataAt);
    }
  }

  std::vector<char> get(const std::string& key) override { return entries_.at(key); }
  void wait(const std::vector<std::string>&) override {}

 private:
  // Words, the first of which says how many bytes follow.
  static constexpr std::ptrdiff_t kKeyAt = 0, kDataAt = 64;
  static constexpr std::ptrdiff_t kPage = probe::Meeting::kMaxShared;

  void write(const std::vector<char>& bytes, std::ptrdiff_t at) {
    const std::ptrdiff_t words = (at == kKeyAt ? kDataAt : kPage) - at - 1;
    if (std::cmp_greater(bytes.size(), words * 8))
      throw std::length_error("an address is too long");
    page_[static_cast<std::size_t>(at)] = static_cast<std::int64_t>(bytes.size());
    std::memcpy(page_.data() + at + 1, bytes.data(), bytes.size());
  }

  static std::vector<char> read(const std::int64_t* words) {
    const auto* const bytes = reinterpret_cast<const char*>(words + 1);
    return {bytes, bytes + words[0]};
  }

  probe::Meeting& meeting_;
  std::vector<std::int64_t> page_ = std::vector<std::int64_t>(kPage);
  std::map<std::string, std::vector<char>> entries_;
};

template <class T>
gloo::AllreduceOptions::Func reduction(ReduceOp op) {
  using Function = void (*)(void*, const void*, const void*, std::size_t);
  switch (op) {
    case ReduceOp::kSum:
      return Function(&gloo::sum<T>);
    case ReduceOp::kMin:
      return Function(&gloo::min<T>);
    case ReduceOp::kMax:
      return Function(&gloo::max<T>);
    case ReduceOp::kProd:
      return Function(&gloo::product<T>);
    case ReduceOp::kAvg:
    case ReduceOp::kPreMulSum:
      break;
  }
  return nullptr;
}

Status not_measured() {
  return Status(Code::kInvalidArgument, Scope::kOperation,
                "Gloo is measured without float16, bfloat16, averages and factors");
}

class Gloo final : public probe::SmallSubject {
 public:
  explicit Gloo(std::shared_ptr<gloo::rendezvous::Context> context)
      : context_(std::move(context)) {}

  int rank() const override { return context_->rank; }
  int size() const override { return context_->size; }

 private:
  Status run_barrier() override {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
    return Status();
  }

  Status run_broadcast(probe::Elements buffer, int root) override {
    return with_type(buffer.type, [&]<class T>(T) {
      if constexpr (!std::is_arithmetic_v<T>) {
        return not_measured();
      } else {
        gloo::BroadcastOptions options(context_);
        options.setOutput(static_cast<T*>(buffer.data), buffer.count);
        options.setRoot(root);
        gloo::broadcast(options);
        return Status();
      }
    });
  }

  Status run_all_reduce(const void* in, probe::Elements out, ReduceOp op) override {
    if (op == ReduceOp::kAvg || op == ReduceOp::kPreMulSum) return not_measured();
    return with_type(out.type, [&]<class T>(T) {
      if constexpr (!std::is_arithmetic_v<T>) {
        return not_measured();
      } else {
        gloo::AllreduceOptions options(context_);
        if (in != out.data) options.setInput(static_cast<T*>(const_cast<void*>(in)), out.count);
        options.setOutput(static_cast<T*>(out.data), out.count);
        options.setReduceFunction(reduction<T>(op));
        gloo::allreduce(options);
        return Status();
      }
    });
  }

  std::shared_ptr<gloo::rendezvous::Context> context_;  // owners: this, and Gloo's operations
};

Status measure(const probe::Orders& orders) {
  const SystemClock clock;
  PACELINE_TRY_ASSIGN(const Environment environment, read_environment());
  const probe::SharedMeeting::Place place{.rank = environment.rank.value_or(0),
                                          .ranks = environment.world_size.value_or(1),
                                          .cpus = allowed_cpus()};
  auto context = std::make_shared<gloo::rendezvous::Context>(place.rank, place.ranks);
  {
    PACELINE_TRY_ASSIGN(const auto meeting,
                        probe::SharedMeeting::open(orders.meeting, place, clock));
    AddressBook addresses(*meeting);
    gloo::transport::tcp::attr loopback("127.0.0.1");
    auto device = gloo::transport::tcp::CreateDevice(loopback);
    context->connectFullMesh(addresses, device);
  }
  Gloo library(std::move(context));
  return probe::measure_all(library, orders);
}

}  // namespace
}  // namespace paceline::peers

int main(int argc, char** argv) {
  return paceline::peers::peer_main(argc, argv, [](const paceline::probe::Orders& orders) {
    try {
      return paceline::peers::measure(orders);
    } catch (const std::exception& error) {
      return paceline::Status(paceline::Code::kInternal, paceline::Scope::kProcess, error.what());
    }
  });
}
