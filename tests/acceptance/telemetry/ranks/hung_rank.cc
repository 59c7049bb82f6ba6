// A rank that hangs until SIGUSR1 comes, and then prints a result. Usage: hung_rank spin|write|end
//   spin   computes in compute_for_ever()
//   write  writes to a pipe that nobody reads until then
//   end    ends at once
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <signal.h>
#include <unistd.h>

namespace {

volatile sig_atomic_t is_released = 0;
constexpr std::size_t kBytes = std::size_t{1} << 20;

[[gnu::noinline]] unsigned compute_for_ever() {
  unsigned value = 1;
  while (is_released == 0) value = value * 3 | 1;
  return value & 1;
}

void spin() {
  struct sigaction action {};
  action.sa_handler = [](int) { is_released = 1; };
  ::sigaction(SIGUSR1, &action, nullptr);
  std::printf("result %u\n", compute_for_ever());
}

// The main thread writes. The other one reads all once it is released.
[[gnu::noinline]] void write_for_ever() {
  int ends[2];
  if (::pipe(ends) != 0) std::exit(3);
  sigset_t release;
  ::sigemptyset(&release);
  ::sigaddset(&release, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &release, nullptr);
  std::size_t sum = 0;
  std::thread reader([&] {
    int signal = 0;
    ::sigwait(&release, &signal);
    char part[65536];
    for (ssize_t got = 0; (got = ::read(ends[0], part, sizeof part)) > 0;)
      for (ssize_t i = 0; i < got; ++i) sum += static_cast<unsigned char>(part[i]);
  });
  const std::string text(kBytes, '\1');
  for (std::size_t written = 0; written < kBytes;) {
    const ssize_t more = ::write(ends[1], text.data() + written, kBytes - written);
    if (more <= 0) std::exit(4);
    written += static_cast<std::size_t>(more);
  }
  ::close(ends[1]);
  reader.join();
  std::printf("result %zu\n", sum);
}

}  // namespace

int main(int count, char** words) {
  const std::string mode = count > 1 ? words[1] : "";
  if (mode == "spin") spin();
  if (mode == "write") write_for_ever();
  return 0;
}
