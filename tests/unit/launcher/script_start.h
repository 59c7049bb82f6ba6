// A job of one rank that runs a shell's script.
#pragma once

#include <string>

#include "comm/job_key.h"
#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

inline messages::ToAgent start_of_script(const std::string& job, const std::string& script) {
  messages::ToAgent message;
  messages::Start& start = *message.mutable_start();
  start.set_job_id(job);
  start.set_job_key(std::string(JobKey::kBytes, 'k'));
  start.set_world_size(1);
  start.add_ranks(0);
  messages::App& app = *start.add_apps();
  app.set_ranks(1);
  for (const char* word : {"/bin/sh", "-c", script.c_str()}) app.add_command(word);
  start.add_on_console(true);
  return message;
}

}  // namespace paceline::launcher
