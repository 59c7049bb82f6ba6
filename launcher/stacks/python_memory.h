// The memory into which Python of a rank writes where its threads are, when a signal asks for it.
//
//   agent     makes the memory, which the rank inherits as a descriptor
//   hook      sitecustomize.py registers faulthandler for a signal, and notes its process
//   look      finds the note, checks that the descriptor still is this memory, signals, and reads
//
//   0 ─ notes of processes, 16 bytes each ─ kTextBegin ─ text, at the offset that writers share ─
//   end
//
// Only faulthandler writes text, which it appends. The memory is sealed, so it cannot grow: a
// program that signals itself for ever fills it and no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"
#include "launcher/channel/messages.pb.h"
#include "launcher/system/process_identity.h"

namespace paceline::launcher {

inline constexpr std::size_t kPythonMemoryBytes = std::size_t{1} << 20;
inline constexpr std::size_t kPythonTextBegin = std::size_t{64} << 10;
inline constexpr std::size_t kMaxPythonText = std::size_t{256} << 10;

/// The variable that tells the hook descriptor, device and inode of the memory: "6:1:4711".
inline constexpr const char* kPythonHookVariable = "PACELINE_PYTHON_HOOK";

/// The text of sitecustomize.py.
extern const std::string_view kPythonHook;

Result<UniqueFd> make_python_memory();
/// Of a memory that the rank gets as `descriptor`.
messages::HookMemory describe_python_memory(const UniqueFd& memory, int descriptor);
std::string python_hook_value(const messages::HookMemory& memory);
/// Text that was read, or will not be, is dropped if it takes much room. Call it while nobody asks.
void make_room_for_text(const UniqueFd& memory);

/// A process that has registered faulthandler.
struct PythonNote {
  pid_t pid = 0;
  int signal = 0;
  std::uint64_t executable = 0;  ///< its inode

  bool operator==(const PythonNote&) const = default;
};
/// Notes are of the rank, so they may be nonsense.
std::vector<PythonNote> parse_notes(std::string_view bytes);
std::vector<PythonNote> read_notes(const UniqueFd& memory);

/// The memory, if it still is what `process` has under its descriptor. Closed otherwise. It has an
/// offset of its own.
UniqueFd open_python_memory(pid_t process, const messages::HookMemory& memory);

/// Whether an earlier question waits for the process. Its answer would be in the text of a later
/// one, because all processes of a rank write to the same memory.
bool has_pending_question(const PythonNote& note);

/// Asks the process of the note where it is, and returns the lines of faulthandler. An error says
/// in words why not; no signal is sent to a process that may have another use for it, or is
/// stopped. `pidfd` is of that process.
Result<std::vector<std::string>> ask_python(const PythonNote& note, const UniqueFd& pidfd,
                                            const messages::HookMemory& memory, const Clock& clock,
                                            Deadline deadline);

/// The lines of a text, bounded and printable. Pure.
std::vector<std::string> python_lines(std::string_view text);

}  // namespace paceline::launcher
