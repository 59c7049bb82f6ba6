#include "comm/base/epoll.h"

#include <cerrno>
#include <chrono>
#include <cstddef>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline {
namespace {

// From now on epoll_pwait2(2) fails with `error` in this process.
bool take_pwait2_away(int error) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_pwait2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{.len = std::size(program), .filter = program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Returns 0 if an event arrives although epoll_pwait2 fails after Epoll has chosen it.
int hear_of_an_event_without_pwait2(int error) {
  const auto epoll = Epoll::create();
  const UniqueFd event(::eventfd(1, EFD_CLOEXEC));
  epoll_event watched{.events = EPOLLIN, .data = {.fd = event.get()}};
  if (!epoll.ok() || ::epoll_ctl(epoll->fd(), EPOLL_CTL_ADD, event.get(), &watched) != 0) return 1;
  if (!take_pwait2_away(error)) return 77;
  for (int i = 0; i < 2; ++i) {
    epoll_event room[2];
    const auto events = epoll->wait(room, std::chrono::seconds(1));
    if (events.size() != 1 || events[0].data.fd != event.get()) return 2;
  }
  return 0;
}

TEST(Epoll, AFilterThatIsInstalledLaterTakesNoEventsAway) {
  for (const int error : {ENOSYS, EPERM, EINVAL}) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(hear_of_an_event_without_pwait2(error));
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no filter can be installed here";
    EXPECT_EQ(WEXITSTATUS(status), 0) << error;
  }
}

}  // namespace
}  // namespace paceline
