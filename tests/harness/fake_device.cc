#include "tests/harness/fake_device.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comm/base/assert.h"
#include "comm/base/clock.h"
#include "comm/base/try.h"

namespace paceline::testing {
namespace {

constexpr std::size_t kPage = 4096;
// Freed allocations whose addresses are not used again yet. The system limits mappings.
constexpr std::size_t kMostFreed = 1000;

std::size_t whole_pages(std::size_t bytes) {
  return std::max<std::size_t>((bytes + kPage - 1) / kPage, 1) * kPage;
}

// The streams of all devices of this process, but the default ones.
class StreamBook {
 public:
  StreamBook() : lock_(mutex()), streams(all()) {}

 private:
  static std::mutex& mutex() {
    static std::mutex* const one = new std::mutex();
    return *one;
  }
  static std::map<DeviceStream, FakeDevice*>& all() {
    static auto* const one = new std::map<DeviceStream, FakeDevice*>();
    return *one;
  }

  const std::lock_guard<std::mutex> lock_;

 public:
  std::map<DeviceStream, FakeDevice*>& streams;
};

// The memory that begins last at or before this address.
template <class Map>
auto around(Map& map, const void* address) {
  auto after = map.upper_bound(static_cast<const std::byte*>(address));
  return after == map.begin() ? map.end() : std::prev(after);
}

}  // namespace

FakeDevice::FakeDevice(int number, std::uint64_t seed)
    : number_(number), seed_(seed), random_(seed) {
  streams_[nullptr] = std::make_unique<Stream>();
}

void FakeDevice::retire() {
  const std::lock_guard lock(mutex_);
  has_failed_ = is_retired_ = true;
  for (const auto& [stream, _] : streams_) StreamBook().streams.erase(stream);
  for (const auto& [address, memory] : memory_) unmap(address, memory);
  streams_.clear();
  events_.clear();
  memory_.clear();
}

void FakeDevice::unmap(const std::byte* address, const Memory& memory) {
  ::munmap(const_cast<std::byte*>(address), whole_pages(memory.bytes));
  ::munmap(memory.seen, whole_pages(memory.bytes));
}

std::byte* FakeDevice::allocate(std::size_t bytes) {
  const std::size_t length = whole_pages(bytes);
  void* const seen = ::mmap(nullptr, length, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void* const address =
      ::mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  PACELINE_ASSERT(seen != MAP_FAILED && address != MAP_FAILED);
  const std::lock_guard lock(mutex_);
  memory_[static_cast<std::byte*>(address)] = {static_cast<std::byte*>(seen), bytes, false};
  return static_cast<std::byte*>(address);
}

void FakeDevice::free(std::byte* memory) {
  const std::lock_guard lock(mutex_);
  if (is_retired_) return;
  memory_.at(memory).is_free = true;
  freed_.push_back(memory);
  if (freed_.size() <= kMostFreed) return;
  const auto oldest = memory_.find(freed_.front());
  unmap(oldest->first, oldest->second);
  memory_.erase(oldest);
  freed_.pop_front();
}

std::byte* FakeDevice::seen(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto found = around(memory_, address);
  PACELINE_ASSERT(found != memory_.end());
  return found->second.seen + (static_cast<const std::byte*>(address) - found->first);
}

bool FakeDevice::owns(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto found = around(memory_, address);
  if (found == memory_.end()) return false;
  const auto at = static_cast<const std::byte*>(address) - found->first;
  return static_cast<std::size_t>(at) < whole_pages(found->second.bytes);
}

void FakeDevice::hold(DeviceStream stream) {
  const std::lock_guard lock(mutex_);
  streams_.at(stream)->is_held = true;
}

void FakeDevice::release(DeviceStream stream) {
  const std::lock_guard lock(mutex_);
  streams_.at(stream)->is_held = false;
}

void FakeDevice::capture(DeviceStream stream) {
  const std::lock_guard lock(mutex_);
  streams_.at(stream)->is_captured = true;
}

void FakeDevice::replay(DeviceStream stream) {
  const std::lock_guard lock(mutex_);
  streams_.at(stream)->is_captured = false;
}

void FakeDevice::fail() {
  const std::lock_guard lock(mutex_);
  has_failed_ = true;
  for (const auto& [_, stream] : streams_) stream->tasks.clear();
}

void FakeDevice::refuse_pins() {
  const std::lock_guard lock(mutex_);
  refuses_pins_ = true;
}

void FakeDevice::launch(DeviceStream stream, std::function<void()> kernel) {
  const std::lock_guard lock(mutex_);
  (void)enqueue(stream, {.may_run = nullptr, .run = std::move(kernel), .may_be_captured = true});
}

void FakeDevice::launch_until(DeviceStream stream, std::function<bool()> kernel) {
  const std::lock_guard lock(mutex_);
  (void)enqueue(stream, {.may_run = std::move(kernel), .run = [] {}, .may_be_captured = true});
}

FakeDevice* FakeDevice::of_stream(DeviceStream stream) {
  const StreamBook book;
  const auto found = book.streams.find(stream);
  return found == book.streams.end() ? nullptr : found->second;
}

void FakeDevice::run_all() {
  const std::lock_guard lock(mutex_);
  for (bool ran = true; ran;) {
    ran = false;
    for (const auto& [_, stream] : streams_) ran |= run_one(*stream);
  }
}

void FakeDevice::synchronize() {
  const auto is_idle = [this] {
    const std::lock_guard lock(mutex_);
    return std::ranges::all_of(streams_, [](const auto& one) { return one.second->tasks.empty(); });
  };
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, std::chrono::minutes(1));
  for (run_all(); !is_idle() && !deadline.passed(clock.now()); run_all()) ::sched_yield();
}

std::string FakeDevice::broken() const {
  const std::lock_guard lock(mutex_);
  return broken_;
}

std::string FakeDevice::name() const { return "GPU " + std::to_string(number_); }

std::array<std::byte, 16> FakeDevice::identity() const {
  std::array<std::byte, 16> identity{};
  std::memcpy(identity.data(), &seed_, sizeof seed_);
  return identity;
}

Status FakeDevice::run_in_context(FunctionRef<void()> calls) {
  calls();
  return {};
}

Status FakeDevice::error(const std::string& what) const {
  return Status(Code::kUnavailable, Scope::kGroup, name() + " cannot " + what + ": it has failed");
}

void FakeDevice::break_rule(const std::string& what) {
  if (broken_.empty()) broken_ = what;
}

Status FakeDevice::enqueue(DeviceStream stream, Task task) {
  if (has_failed_) return error("enqueue");
  const auto found = streams_.find(stream);
  if (found == streams_.end()) {
    break_rule("something was enqueued in a stream that does not exist");
    return {};
  }
  if (found->second->is_captured && !task.may_be_captured)
    break_rule("something was enqueued in a stream that is captured");
  found->second->tasks.push_back(std::move(task));
  return {};
}

bool FakeDevice::run_one(Stream& stream) {
  if (stream.is_held || stream.is_captured || stream.tasks.empty()) return false;
  if (stream.tasks.front().may_run && !stream.tasks.front().may_run()) return false;
  const Task task = std::move(stream.tasks.front());
  stream.tasks.pop_front();
  task.run();
  return true;
}

void FakeDevice::run_some() {
  for (auto& [_, stream] : streams_) {
    const std::uint64_t most = random_.below(4);
    for (std::uint64_t i = 0; i < most && run_one(*stream); ++i) continue;
  }
}

Result<DeviceStream> FakeDevice::make_stream() {
  const std::lock_guard lock(mutex_);
  if (has_failed_) return error("make a stream");
  auto stream = std::make_unique<Stream>();
  const DeviceStream handle = stream.get();
  streams_[handle] = std::move(stream);
  StreamBook().streams[handle] = this;
  return handle;
}

void FakeDevice::destroy_stream(DeviceStream stream) {
  const std::lock_guard lock(mutex_);
  if (is_retired_) return;
  if (!streams_.at(stream)->tasks.empty()) break_rule("a stream was destroyed with work in it");
  StreamBook().streams.erase(stream);
  streams_.erase(stream);
}

Result<DeviceEvent> FakeDevice::make_event() {
  const std::lock_guard lock(mutex_);
  if (has_failed_) return error("make an event");
  auto event = std::make_unique<Event>();
  const auto handle = reinterpret_cast<DeviceEvent>(event.get());
  events_[handle] = std::move(event);
  return handle;
}

void FakeDevice::destroy_event(DeviceEvent event) {
  const std::lock_guard lock(mutex_);
  events_.erase(event);
}

Status FakeDevice::record(DeviceEvent event, DeviceStream stream) {
  const std::lock_guard lock(mutex_);
  if (is_retired_) return error("record an event");
  Event& of = *events_.at(event);
  const std::uint64_t recorded = of.recorded + 1;
  PACELINE_TRY(enqueue(stream, {.may_run = nullptr, .run = [this, event, recorded] {
                                  const auto found = events_.find(event);
                                  if (found == events_.end()) return;
                                  Event& passing = *found->second;
                                  passing.passed = std::max(passing.passed, recorded);
                                }}));
  of.recorded = recorded;
  return {};
}

Result<bool> FakeDevice::has_passed(DeviceEvent event) {
  const std::lock_guard lock(mutex_);
  if (has_failed_) return error("say what has ended");
  run_some();
  const Event& of = *events_.at(event);
  return of.passed == of.recorded;
}

Status FakeDevice::let_wait(DeviceStream stream, DeviceEvent event) {
  const std::lock_guard lock(mutex_);
  if (is_retired_) return error("let a stream wait");
  const std::uint64_t wanted = events_.at(event)->recorded;
  const auto may_run = [this, event, wanted] {
    const auto found = events_.find(event);
    return found == events_.end() || found->second->passed >= wanted;
  };
  return enqueue(stream, {.may_run = may_run, .run = [] {}});
}

std::byte* FakeDevice::use(const void* device, std::size_t bytes, const char* what) {
  const auto found = around(memory_, device);
  const bool is_there = found != memory_.end();
  const std::size_t at =
      is_there ? static_cast<std::size_t>(static_cast<const std::byte*>(device) - found->first) : 0;
  if (!is_there || at + bytes > found->second.bytes || found->second.is_free) {
    break_rule(std::string(what) + " memory that is not allocated");
    return nullptr;
  }
  return found->second.seen + at;
}

Status FakeDevice::copy_down(void* host, const void* device, std::size_t bytes,
                             DeviceStream stream) {
  const std::lock_guard lock(mutex_);
  const auto pinned = around(pinned_, host);
  if (pinned == pinned_.end() ||
      static_cast<std::byte*>(host) + bytes > pinned->first + pinned->second)
    break_rule("a copy goes to host memory that is not pinned");
  return enqueue(stream, {.may_run = nullptr, .run = [this, host, device, bytes] {
                            const std::byte* const from = use(device, bytes, "a copy reads");
                            if (from != nullptr) std::memcpy(host, from, bytes);
                          }});
}

Status FakeDevice::copy_up(void* device, const void* host, std::size_t bytes, DeviceStream stream) {
  const std::lock_guard lock(mutex_);
  const auto pinned = around(pinned_, host);
  if (pinned == pinned_.end() ||
      static_cast<const std::byte*>(host) + bytes > pinned->first + pinned->second)
    break_rule("a copy comes from host memory that is not pinned");
  return enqueue(stream, {.may_run = nullptr, .run = [this, host, device, bytes] {
                            std::byte* const into = use(device, bytes, "a copy writes");
                            if (into != nullptr) std::memcpy(into, host, bytes);
                          }});
}

Status FakeDevice::copy_within(void* to, const void* from, std::size_t bytes, DeviceStream stream) {
  const std::lock_guard lock(mutex_);
  return enqueue(stream, {.may_run = nullptr, .run = [this, to, from, bytes] {
                            const std::byte* const source = use(from, bytes, "a copy reads");
                            std::byte* const into = use(to, bytes, "a copy writes");
                            if (source != nullptr && into != nullptr)
                              std::memmove(into, source, bytes);
                          }});
}

// Not zeros, as a real device's.
Result<std::byte*> FakeDevice::make_memory(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (has_failed_) return error("allocate memory");
  }
  std::byte* const memory = allocate(bytes);
  std::memset(seen(memory), 0xAB, bytes);
  return memory;
}

void FakeDevice::destroy_memory(std::byte* memory) {
  if (memory != nullptr) free(memory);
}

Result<bool> FakeDevice::is_captured(DeviceStream stream) {
  const std::lock_guard lock(mutex_);
  if (has_failed_) return error("look at a stream");
  return streams_.at(stream)->is_captured;
}

Status FakeDevice::pin(std::span<std::byte> host) {
  const std::lock_guard lock(mutex_);
  if (has_failed_ || refuses_pins_) return error("pin memory");
  pinned_[host.data()] = host.size();
  return {};
}

void FakeDevice::unpin(std::span<std::byte> host) {
  const std::lock_guard lock(mutex_);
  pinned_.erase(host.data());
}

}  // namespace paceline::testing
