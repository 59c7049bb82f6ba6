#include "launcher/agent/spawn_orders.h"

#include <cstdint>
#include <string_view>

namespace paceline::launcher {

messages::ToHelper program_of(const messages::Start& start, const messages::App& app,
                              const HostFacts& facts, const ProgramFile& file,
                              Inherited inherited) {
  messages::ToHelper message;
  messages::Program& program = *message.mutable_program();
  program.set_path(file.path);
  program.set_is_shell_script(file.is_shell_script);
  *program.mutable_arguments() = app.command();
  program.set_working_directory(app.working_directory());
  *program.mutable_environment() = suggested_variables(start, facts, [&](std::string_view name) {
    return inherited(std::string(name).c_str()) != nullptr;
  });
  program.mutable_environment()->MergeFrom(app.environment());
  return message;
}

messages::ToHelper spawn_of(const messages::Start& start, const HostFacts& facts, int program,
                            int local_rank, Inherited inherited) {
  messages::ToHelper message;
  messages::Spawn& spawn = *message.mutable_spawn();
  spawn.set_rank(start.ranks(local_rank));
  spawn.set_program(static_cast<std::uint32_t>(program));
  if (local_rank < start.seats_size()) {
    const messages::RankSeat& seat = start.seats(local_rank);
    spawn.set_cpus(seat.cpus());
    spawn.set_tells_binding(true);
    *spawn.mutable_memory_nodes() = seat.memory_nodes();
    *spawn.mutable_environment() =
        unless_set(seat.suggested(), start.apps(program).environment(), inherited);
  }
  spawn.mutable_environment()->MergeFrom(identity_variables(start, facts, local_rank));
  return message;
}

}  // namespace paceline::launcher
