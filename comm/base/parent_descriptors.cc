#include "comm/base/parent_descriptors.h"

#include <mutex>
#include <vector>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace paceline {
namespace {

struct Table {
  std::mutex mutex;  // guards descriptors; held during fork()
  std::vector<int> descriptors;
};

Table& table();

void before_fork() { table().mutex.lock(); }
void after_fork() { table().mutex.unlock(); }

// Only calls that are safe beside threads of the parent that the child does not have.
void in_child() {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (const int fd : table().descriptors)
    if (nothing < 0 || ::dup3(nothing, fd, O_CLOEXEC) < 0) ::close(fd);
  if (nothing >= 0) ::close(nothing);
  table().descriptors.clear();
  table().mutex.unlock();
}

// Never destroyed: a child may be forked by the last destructor of a program.
Table& table() {
  static Table* const made = [] {
    // It fails if the process is out of memory. Children then inherit the descriptors.
    (void)::pthread_atfork(&before_fork, &after_fork, &in_child);
    return new Table;
  }();
  return *made;
}

}  // namespace

void keep_from_children(int fd) {
  const std::lock_guard lock(table().mutex);
  table().descriptors.push_back(fd);
}

void leave_to_children(int fd) {
  const std::lock_guard lock(table().mutex);
  std::erase(table().descriptors, fd);
}

}  // namespace paceline
