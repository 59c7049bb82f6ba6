// System calls with their errors as Results.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <sys/resource.h>
#include <sys/types.h>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"

namespace paceline::launcher {

/// "cannot <what>: <errno in words>". The kernel has refused something of this process.
Status system_error(std::string_view what);

/// Both close-on-exec.
struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Result<Pipe> make_pipe();

/// Two connected Unix stream sockets, both close-on-exec.
Result<std::pair<UniqueFd, UniqueFd>> make_socket_pair();

/// A copy of `fd`, close-on-exec.
Result<UniqueFd> duplicate(int fd);

/// Becomes readable when the process ends; closed, with errno set, where there is none.
/// (The C library's own pidfd_open() cannot be called from C++ before glibc 2.37.)
UniqueFd open_pidfd(pid_t pid);

/// /dev/null for reading and writing.
Result<UniqueFd> open_null();

Result<std::string> path_of_this_program();

/// Where `paceline` itself lies, and with it what it starts.
Result<std::string> folder_of_programs();

/// Puts /dev/null in the place of `fd`.
void replace_by_null(int fd);

/// Lets this process hold as many descriptors as its hard limit allows. Returns the limit as it
/// was.
rlimit raise_descriptor_limit();

/// Blocks until all of it is written. False with errno set.
bool write_all(int fd, std::string_view text);

/// All of it on standard output, or why it is not there.
Status print_out(const std::string& text);

/// One line on standard error, for a process that has no other way to tell.
void report(std::string_view process, const Status& status);

}  // namespace paceline::launcher
