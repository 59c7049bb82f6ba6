// Ranks that exit while a communicator exists: exiting_rank WAY. The last rank never joins the
// operation. So the other ranks get an error, or are inside the operation, when they exit with code
// 22. Destruction of their static objects takes a second.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <netinet/in.h>
#include <openssl/evp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <paceline/communicator.h>
#include <paceline/gradient_pipeline.h>
#include <paceline/paceline.h>

namespace {

using namespace paceline;

constexpr int kCode = 22;
// How long ranks join before they exit, in ms: time for strangers to find their ports.
constexpr int kJoining = 2000;
constexpr int kLateMs = 1000;

// Writes at once, without stdio: exit() may be flushing its streams.
void say(const std::string& text) {
  const std::string line = text + "\n";
  (void)!::write(STDOUT_FILENO, line.data(), line.size());
}

std::vector<float> g_values(4 << 20, 1.0F);
std::optional<Communicator> g_world;
plComm_t g_comm = nullptr;

// Destroyed after the objects that main() makes.
struct Late {
  bool calls = false;
  ~Late() {
    if (calls) call();
    ::poll(nullptr, 0, kLateMs);
  }
  void call() {
    say(g_world->barrier().to_string());
    (void)plBarrier(g_comm, nullptr);
    say(plGetLastError(nullptr));
    (void)plGroupStart();
    (void)plAllReduce(g_values.data(), g_values.data(), 1, plFloat32, plSum, g_comm, nullptr);
    say(plGetErrorString(plGroupEnd()));
    say(Communicator::init().status().to_string());
  }
} g_late;

// Runs after the destructor of g_late.
[[gnu::destructor]] void end_late() { ::poll(nullptr, 0, kLateMs); }

std::size_t count_threads() {
  std::size_t threads = 0;
  for ([[maybe_unused]] const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    ++threads;
  return threads;
}

// Uses a communicator, a pipeline and an operation that exit() has ended. Made before all of them,
// and destroyed after the exit handler.
struct Older {
  std::optional<Communicator> world;
  std::optional<GradientPipeline> pipeline;
  Work pending;
  const std::size_t threads = count_threads();
  ~Older() {
    if (!world) return;
    say(pending.test() ? "it has ended" : "it has not ended");
    say(pending.wait().to_string());
    say(world->barrier().to_string());
    say(world->barrier_async().wait().to_string());
    say(pipeline->wait().status().to_string());
    say(count_threads() == threads ? "no thread is left" : "a thread is left");
  }
} g_older;

// Uses a communicator and a pending operation while they are still usable. Made after them, and
// destroyed before the exit handler.
struct Newer {
  Communicator& world;
  Communicator part;
  Work pending;
  ~Newer() {
    say(pending.wait().to_string());
    say(part.barrier().to_string());
    say(world.barrier().to_string());
  }
};

bool is_last(const Communicator& world) { return world.rank() == world.size() - 1; }

// The timeout is long enough to ask the absent rank for its state. When the operation fails, the
// question is still unanswered and keeps the background thread awake.
constexpr std::chrono::seconds kTimeout(3);
InitOptions impatient() { return {.timeout_ms = kTimeout}; }

Status sum(Communicator& world) { return world.all_reduce(std::span(g_values)); }

int fail(Communicator& world) {
  if (is_last(world)) ::pause();
  return sum(world).ok() ? 0 : kCode;
}

int with_global() { return fail(g_world.emplace(Communicator::init(impatient()).value())); }

int with_local_static() {
  static Communicator world = Communicator::init(impatient()).value();
  return fail(world);
}

int with_leaked() { return fail(*new Communicator(Communicator::init(impatient()).value())); }

int with_openssl_first() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  if (EVP_Digest("x", 1, digest, &length, EVP_sha256(), nullptr) != 1) return 1;
  return with_leaked();
}

int in_c() {
  plConfig_t config = PL_CONFIG_INITIALIZER;
  config.timeoutMs = std::chrono::milliseconds(kTimeout).count();
  int rank = 0, size = 0;
  if (plCommInitFromEnvironment(&g_comm, &config) != plSuccess) return 1;
  if (plCommUserRank(g_comm, &rank) != plSuccess || plCommCount(g_comm, &size) != plSuccess)
    return 1;
  if (rank == size - 1) ::pause();
  const plResult_t failed = plAllReduce(g_values.data(), g_values.data(), g_values.size(),
                                        plFloat32, plSum, g_comm, nullptr);
  return failed != plSuccess ? kCode : 0;
}

// Later calls, by destructors of static objects, get an error.
int with_late_calls() {
  plUniqueId id;
  if (plGetUniqueId(&id) != plSuccess || plCommInitRank(&g_comm, 1, id, 0) != plSuccess) return 1;
  const int code = with_global();
  g_late.calls = true;
  return code;
}

// A server of an id waits for ranks that never join.
int with_unused_id() {
  plUniqueId id;
  if (plGetUniqueId(&id) != plSuccess) return 1;
  return with_leaked();
}

int in_another_thread() {
  Communicator& world = g_world.emplace(Communicator::init().value());
  if (is_last(world)) ::pause();
  std::thread([] {
    ::poll(nullptr, 0, 300);  // by then the other thread is inside the operation
    std::exit(kCode);
  }).detach();
  say(sum(world).to_string());
  return ::pause();
}

int in_signal_handler() {
  Communicator& world = g_world.emplace(Communicator::init().value());
  if (is_last(world)) ::pause();
  ::signal(SIGALRM, [](int) { std::exit(kCode); });
  const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 300'000}};
  ::setitimer(ITIMER_REAL, &soon, nullptr);
  (void)sum(world);
  return 1;
}

// The last rank never joins.
int while_it_joins() {
  if (std::string(std::getenv("RANK")) == "2") ::pause();
  std::thread([] { say(Communicator::init().status().to_string()); }).detach();
  ::poll(nullptr, 0, kJoining);
  return kCode;
}

// There is no listener at the address where rank 0 should serve the store.
int while_it_connects() {
  const int taken = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  if (::bind(taken, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::getsockname(taken, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return 1;
  ::unsetenv("PACELINE_STORE");
  ::setenv("RANK", "1", 1);
  ::setenv("MASTER_ADDR", "127.0.0.1", 1);
  ::setenv("MASTER_PORT", std::to_string(ntohs(address.sin_port)).c_str(), 1);
  std::thread([] { say(Communicator::init().status().to_string()); }).detach();
  ::poll(nullptr, 0, kJoining);
  return kCode;
}

// While another thread waits for the engine, or drives it.
int in_signal_handler_beside() {
  Communicator& world = g_world.emplace(Communicator::init().value());
  if (is_last(world)) ::pause();
  std::thread([&world] { say(sum(world).to_string()); }).detach();
  ::poll(nullptr, 0, 100);
  ::signal(SIGALRM, [](int) { std::exit(kCode); });
  const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 300'000}};
  ::setitimer(ITIMER_REAL, &soon, nullptr);
  (void)world.barrier();
  return 1;
}

int in_child() {
  Communicator& world = g_world.emplace(Communicator::init().value());
  if (::fork() == 0) std::exit(0);
  ::poll(nullptr, 0, 300);  // the child has exited by then
  if (Status status = sum(world); !status.ok()) return say(status.to_string()), 1;
  return world.close().ok() ? kCode : 1;
}

// A child that was made without fork(), so handlers of pthread_atfork() did not run.
int in_bare_child() {
  Communicator& world = g_world.emplace(Communicator::init().value());
  const long child = ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) std::exit(world.barrier().code() == Code::kInvalidArgument ? 0 : 1);
  int status = 0;
  if (::waitpid(static_cast<pid_t>(child), &status, 0) != child || status != 0)
    return say("a child has wait status " + std::to_string(status)), 1;
  if (Status summed = sum(world); !summed.ok()) return say(summed.to_string()), 1;
  return world.close().ok() ? kCode : 1;
}

int in_the_middle() {
  Communicator& world = *new Communicator(Communicator::init().value());
  // A rank says goodbye only to peers with which it has a connection. Rank 0 may exit before this
  // operation ends.
  const Status first = sum(world);
  if (is_last(world)) ::pause();
  const Work work = world.all_reduce_async(std::span(g_values));
  if (world.rank() == 0) return kCode;
  say(first.ok() ? work.wait().to_string() : first.to_string());
  return kCode;
}

// Rank 0 exits while an operation and a step of a pipeline are pending. That may be before the
// first operation has ended on the other ranks.
int used_by_older() {
  g_older.world.emplace(Communicator::init().value());
  Communicator& world = *g_older.world;
  g_older.pipeline.emplace(GradientPipeline::create(world, {{"a", 1}, {"b", 1}}).value());
  const Status first = sum(world);
  if (world.rank() != 0) ::pause();
  if (!first.ok()) return 1;
  g_older.pending = world.all_reduce_async(std::span(g_values));
  return g_older.pipeline->ready(0).ok() ? kCode : 1;
}

int used_by_newer() {
  Communicator& world = g_world.emplace(Communicator::init().value());
  static Newer newer{.world = world, .part = *world.split(0, 0).value(), .pending = {}};
  newer.pending = world.all_reduce_async(std::span(g_values));
  return kCode;
}

int after_close() {
  Communicator& world = *new Communicator(Communicator::init().value());
  return sum(world).ok() && world.close().ok() ? kCode : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<int()>> ways = {
      {"global", with_global},
      {"local_static", with_local_static},
      {"leaked", with_leaked},
      {"openssl_first", with_openssl_first},
      {"c", in_c},
      {"late_calls", with_late_calls},
      {"unused_id", with_unused_id},
      {"another_thread", in_another_thread},
      {"signal_handler", in_signal_handler},
      {"signal_handler_beside", in_signal_handler_beside},
      {"while_it_joins", while_it_joins},
      {"while_it_connects", while_it_connects},
      {"child", in_child},
      {"bare_child", in_bare_child},
      {"in_the_middle", in_the_middle},
      {"used_by_older", used_by_older},
      {"used_by_newer", used_by_newer},
      {"after_close", after_close}};
  const auto way = ways.find(argc > 1 ? argv[1] : "");
  return way != ways.end() ? way->second() : 2;
}
