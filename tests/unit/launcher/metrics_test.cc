#include "launcher/web/metrics.h"

#include <string>

#include <gtest/gtest.h>

#include "launcher/web/job_history.h"
#include "launcher/web/page_json.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

v1::Snapshot snapshot() {
  v1::Snapshot made;
  made.set_job_id("3f2a");
  made.set_command("./train \"a\\b\"\n<script>");
  made.set_paceline_version("1");
  made.set_phase(v1::PHASE_RUNNING);
  made.set_elapsed_seconds(12.5);
  made.add_hosts()->set_name("h1");
  made.mutable_hosts(0)->set_seconds_since_heard(0.5);
  made.mutable_hosts(0)->set_clock_error_seconds(0.25);
  v1::HostUse& use = *made.mutable_hosts(0)->mutable_use();
  use.set_cpu_seconds(12.5);
  use.set_io_stalled_seconds(0);
  use.set_written_bytes(4096);
  v1::Gpu& gpu = *made.mutable_hosts(0)->add_gpus();
  gpu.set_number(1);
  gpu.set_busy_ratio(0.5);
  gpu.add_clock_limits("heat");
  made.add_hosts()->set_name("h2");  // of which nothing is known
  v1::Rank& rank = *made.add_ranks();
  rank.mutable_member()->set_index(0);
  rank.set_host("h1");
  rank.set_state(v1::Rank::STATE_RUNNING);
  rank.mutable_work()->set_steps(7);
  rank.mutable_work()->set_compute_seconds(1.5);
  rank.mutable_work()->set_memory_stalled_seconds(2);
  rank.mutable_work()->set_gpu(1);
  v1::Performance& performance = *made.mutable_performance();
  performance.set_steps(7);
  performance.set_mfu(0.5);
  v1::WaitedFor& waited = *performance.add_waited_for();
  waited.mutable_member()->set_index(0);
  waited.set_share(0.25);
  performance.add_waited_for()->mutable_member()->set_index(77);  // there is no such rank
  performance.add_links()->set_from("h1");
  performance.mutable_links(0)->set_to("h2");
  performance.mutable_links(0)->set_bytes(5);
  v1::OperationTotal& total = *performance.add_operations();
  total.set_kind("all_reduce");
  total.set_rank_count(1);
  total.set_count(70);
  return made;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, HaveTypesLabelsAndValues) {
  const std::string text = metrics_text(snapshot());
  for (const char* const line :
       {"# TYPE paceline_rank_steps_total counter",
        "# TYPE paceline_ranks gauge",
        "paceline_job_info{id=\"3f2a\",command=\"./train \\\"a\\\\b\\\"\\n<script>\","
        "version=\"1\"} 1",
        "paceline_job_phase{phase=\"running\"} 1",
        "paceline_job_phase{phase=\"ended\"} 0",
        "paceline_job_elapsed_seconds 12.5",
        "paceline_ranks{state=\"running\"} 1",
        "paceline_host_seconds_since_heard{host=\"h1\"} 0.5",
        "# TYPE paceline_host_cpu_seconds_total counter",
        "paceline_host_cpu_seconds_total{host=\"h1\",state=\"busy\"} 12.5",
        "paceline_host_pressure_seconds_total{host=\"h1\",resource=\"io\"} 0",
        "paceline_host_disk_bytes_total{host=\"h1\",direction=\"written\"} 4096",
        "paceline_host_clock_error_seconds{host=\"h1\"} 0.25",
        "paceline_gpu_busy_ratio{host=\"h1\",gpu=\"1\"} 0.5",
        "paceline_gpu_clock_limited{host=\"h1\",gpu=\"1\",reason=\"heat\"} 1",
        "paceline_rank_pressure_seconds_total{rank=\"0\",host=\"h1\",resource=\"memory\"} 2",
        "paceline_rank_gpu_info{rank=\"0\",host=\"h1\",gpu=\"1\"} 1",
        "paceline_mfu_ratio 0.5",
        "paceline_rank_steps_total{rank=\"0\",host=\"h1\"} 7",
        "paceline_rank_step_seconds_total{rank=\"0\",host=\"h1\",part=\"compute\"} 1.5",
        "paceline_waited_for_ratio{rank=\"0\",host=\"h1\",cause=\"\"} 0.25",
        "paceline_link_bytes_total{from=\"h1\",to=\"h2\"} 5",
        "paceline_operations_total{communicator=\"\",kind=\"all_reduce\",ranks=\"1\"} 70"})
    EXPECT_TRUE(has_line(text, line)) << line << "\nis not in\n" << text;
  EXPECT_EQ(text.find("rank=\"77\""), std::string::npos);
  EXPECT_EQ(text.find("exit_code"), std::string::npos);
  for (const char* const unknown :
       {"{host=\"h2\"", "resource=\"cpu\"", "direction=\"read\"", "paceline_gpu_power_watts",
        "paceline_rank_disk", "paceline_host_network"})
    EXPECT_EQ(text.find(unknown), std::string::npos) << unknown << " is not known";
}

TEST(Metrics, OfAJobWithoutRanksAreOfTheJobAlone) {
  const std::string text = metrics_text(v1::Snapshot());
  EXPECT_TRUE(has_line(text, "paceline_job_phase{phase=\"running\"} 0"));
  EXPECT_EQ(text.find("paceline_rank_"), std::string::npos);
}

TEST(PageJson, IsOneLineWhateverTextsHold) {
  JobHistory history;
  history.take(snapshot());
  v1::Snapshot later = snapshot();
  later.set_elapsed_seconds(13.5);
  history.take(later);
  const std::string first = first_message(later, history), next = next_message(later, history);
  for (const std::string& line : {first, next}) {
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_NE(line.find(R"("read":null,"written":4096)"), std::string::npos) << line;
    EXPECT_NE(line.find(R"("limits":["heat"])"), std::string::npos) << line;
    EXPECT_NE(line.find(R"("command":"./train \"a\\b\"\n<script>")"), std::string::npos) << line;
    EXPECT_NE(line.find(R"({"number":0,"at":12.5,"text":"the job is running"})"), std::string::npos)
        << line;
  }
  EXPECT_NE(first.find(R"("points":[{"until":13.5,"seconds":1.0)"), std::string::npos) << first;
  EXPECT_NE(next.find(R"("point":{"until":13.5)"), std::string::npos) << next;
}

}  // namespace
}  // namespace paceline::launcher
