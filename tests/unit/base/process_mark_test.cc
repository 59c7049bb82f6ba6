#include "comm/base/process_mark.h"

#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline {
namespace {

// What a child says by its exit code.
template <class Body>
int forked(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST(ProcessMark, IsOfTheProcessThatMadeIt) {
  const ProcessMark mark;
  EXPECT_TRUE(mark.is_of_this_process());
  EXPECT_EQ(forked([&] { return mark.is_of_this_process() ? 1 : 0; }), 0);
  EXPECT_TRUE(mark.is_of_this_process()) << "after a fork";
}

TEST(ProcessMark, OfAChildIsNotItsChilds) {
  const ProcessMark mark;
  EXPECT_EQ(forked([&] {
              const ProcessMark own;
              if (!own.is_of_this_process()) return 1;
              return forked([&] {
                const bool is_any = own.is_of_this_process() || mark.is_of_this_process();
                return is_any || !ProcessMark().is_of_this_process() ? 2 : 0;
              });
            }),
            0);
}

TEST(ProcessMark, SaysWhoseItIsAndWhatToDo) {
  const ProcessMark mark;
  const std::string parent = std::to_string(::getpid());
  EXPECT_EQ(forked([&] {
              const Status why = mark.refusal("thing");
              const std::string wanted =
                  "this thing belongs to process " + parent + " and cannot be used in process " +
                  std::to_string(::getpid()) + ", which was forked from it; use it in process " +
                  parent + ", or call exec in the child, which can then join a group of its own";
              return why.code() == Code::kInvalidArgument && why.text() == wanted ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace paceline
