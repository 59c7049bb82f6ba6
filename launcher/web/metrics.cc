#include "launcher/web/metrics.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "launcher/control/plain_name.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;
using Labels = std::vector<prometheus::ClientMetric::Label>;

/// All samples of one name.
class Family {
 public:
  Family(const char* name, const char* help, prometheus::MetricType type) {
    family_.name = name;
    family_.help = help;
    family_.type = type;
  }
  /// The value of an optional field, if it is known.
  template <class Message, class Value>
  void add(const Message& from, bool (Message::*has)() const, Value (Message::*value)() const,
           Labels labels) {
    if ((from.*has)()) add(static_cast<double>((from.*value)()), std::move(labels));
  }
  void add(double value, Labels labels = {}) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    if (family_.type == prometheus::MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
    family_.metric.push_back(std::move(metric));
  }
  prometheus::MetricFamily take() { return std::move(family_); }

 private:
  prometheus::MetricFamily family_;
};

Family gauge(const char* name, const char* help) {
  return {name, help, prometheus::MetricType::Gauge};
}
Family counter(const char* name, const char* help) {
  return {name, help, prometheus::MetricType::Counter};
}

/// Collects families; those without samples are left out.
class Page {
 public:
  void add(Family family) {
    prometheus::MetricFamily taken = family.take();
    if (!taken.metric.empty()) families_.push_back(std::move(taken));
  }
  void add(const char* name, const char* help, double value, Labels labels = {}) {
    Family family = gauge(name, help);
    family.add(value, std::move(labels));
    add(std::move(family));
  }
  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<prometheus::MetricFamily> families_;
};

constexpr std::array kPhases{v1::PHASE_STARTING, v1::PHASE_RUNNING, v1::PHASE_RESTARTING,
                             v1::PHASE_ENDING, v1::PHASE_ENDED};

void add_job(const v1::Snapshot& snapshot, Page& page) {
  page.add("paceline_job_info", "The job; the value is always 1", 1,
           {{"id", snapshot.job_id()},
            {"command", snapshot.command()},
            {"version", snapshot.paceline_version()}});
  page.add("paceline_job_start_time_seconds", "When the job started, in seconds since 1970",
           snapshot.start_time_seconds());
  page.add("paceline_job_elapsed_seconds", "Time since the start of the job",
           snapshot.elapsed_seconds());
  Family phases = gauge("paceline_job_phase", "1 for the phase that the job is in, else 0");
  for (const v1::Phase phase : kPhases)
    phases.add(phase == snapshot.phase() ? 1 : 0, {{"phase", phase_text(phase)}});
  page.add(std::move(phases));
  Family restarts =
      counter("paceline_job_restarts_total", "How often all ranks were started again");
  restarts.add(snapshot.restart_count());
  page.add(std::move(restarts));
  if (snapshot.has_exit_code())
    page.add("paceline_job_exit_code", "Exit code of the job, once it has ended",
             snapshot.exit_code());
}

void add_hosts(const v1::Snapshot& snapshot, Page& page) {
  Family silent =
      gauge("paceline_host_seconds_since_heard", "Time since the last message of the host's agent");
  for (const v1::Host& host : snapshot.hosts())
    if (host.has_seconds_since_heard())
      silent.add(host.seconds_since_heard(), {{"host", host.name()}});
  page.add(std::move(silent));
  Family errors = gauge("paceline_host_clock_error_seconds",
                        "Max error of times of the host in operations and traces");
  for (const v1::Host& host : snapshot.hosts())
    errors.add(host, &v1::Host::has_clock_error_seconds, &v1::Host::clock_error_seconds,
               {{"host", host.name()}});
  page.add(std::move(errors));
}

constexpr const char* kPressureHelp = "Time in which some task waited for the resource (PSI)";
constexpr const char* kDiskHelp = "Bytes that disks read and wrote";

// Fields that v1::HostUse and v1::Work have with the same names.
template <class Message>
void add_pressure(const Message& use, const Labels& labels, Family& family) {
  const auto with = [&labels](const char* resource) {
    Labels made = labels;
    made.push_back({"resource", resource});
    return made;
  };
  family.add(use, &Message::has_cpu_stalled_seconds, &Message::cpu_stalled_seconds, with("cpu"));
  family.add(use, &Message::has_memory_stalled_seconds, &Message::memory_stalled_seconds,
             with("memory"));
  family.add(use, &Message::has_io_stalled_seconds, &Message::io_stalled_seconds, with("io"));
}

Labels with_direction(Labels labels, const char* direction) {
  labels.push_back({"direction", direction});
  return labels;
}

template <class Message>
void add_disks(const Message& use, const Labels& labels, Family& family) {
  family.add(use, &Message::has_read_bytes, &Message::read_bytes, with_direction(labels, "read"));
  family.add(use, &Message::has_written_bytes, &Message::written_bytes,
             with_direction(labels, "written"));
}

void add_host_use(const v1::Snapshot& snapshot, Page& page) {
  using Use = v1::HostUse;
  Family cpus = gauge("paceline_host_cpus", "Number of CPUs");
  Family busy = counter("paceline_host_cpu_seconds_total",
                        "Time in which CPUs worked, or were stolen by a hypervisor; over all CPUs");
  Family memory = gauge("paceline_host_memory_bytes", "Memory of the host");
  Family available = gauge("paceline_host_available_memory_bytes",
                           "Memory that programs can get without swapping");
  Family pressure = counter("paceline_host_pressure_seconds_total", kPressureHelp);
  Family disks = counter("paceline_host_disk_bytes_total", kDiskHelp);
  Family network = counter("paceline_host_network_bytes_total",
                           "Bytes that the host received and sent, without loopback and RDMA");
  for (const v1::Host& host : snapshot.hosts()) {
    const Use& use = host.use();
    const Labels labels{{"host", host.name()}};
    const auto with_state = [&labels](const char* state) {
      Labels made = labels;
      made.push_back({"state", state});
      return made;
    };
    cpus.add(use, &Use::has_cpus, &Use::cpus, labels);
    busy.add(use, &Use::has_cpu_seconds, &Use::cpu_seconds, with_state("busy"));
    busy.add(use, &Use::has_stolen_cpu_seconds, &Use::stolen_cpu_seconds, with_state("stolen"));
    memory.add(use, &Use::has_memory_bytes, &Use::memory_bytes, labels);
    available.add(use, &Use::has_available_memory_bytes, &Use::available_memory_bytes, labels);
    add_pressure(use, labels, pressure);
    add_disks(use, labels, disks);
    network.add(use, &Use::has_received_bytes, &Use::received_bytes,
                with_direction(labels, "received"));
    network.add(use, &Use::has_sent_bytes, &Use::sent_bytes, with_direction(labels, "sent"));
  }
  for (Family* const family : {&cpus, &busy, &memory, &available, &pressure, &disks, &network})
    page.add(std::move(*family));
}

void add_gpus(const v1::Snapshot& snapshot, Page& page) {
  using v1::Gpu;
  Family busy = gauge("paceline_gpu_busy_ratio", "Share of the time in which a kernel ran");
  Family memory = gauge("paceline_gpu_memory_bytes", "Memory of the GPU");
  Family used = gauge("paceline_gpu_used_memory_bytes", "Memory of the GPU that is in use");
  Family power = gauge("paceline_gpu_power_watts", "Power that the GPU draws");
  Family clock = gauge("paceline_gpu_sm_clock_hertz", "Clock of its multiprocessors");
  Family heat = gauge("paceline_gpu_temperature_celsius", "Temperature");
  Family errors = counter("paceline_gpu_ecc_errors_total", "ECC errors in the life of the GPU");
  Family limits = gauge("paceline_gpu_clock_limited", "1 for each reason that keeps clocks low");
  for (const v1::Host& host : snapshot.hosts())
    for (const Gpu& gpu : host.gpus()) {
      const Labels labels{{"host", host.name()}, {"gpu", std::to_string(gpu.number())}};
      const auto with = [&labels](const char* label, const std::string& value) {
        Labels made = labels;
        made.push_back({label, value});
        return made;
      };
      busy.add(gpu, &Gpu::has_busy_ratio, &Gpu::busy_ratio, labels);
      memory.add(gpu, &Gpu::has_memory_bytes, &Gpu::memory_bytes, labels);
      used.add(gpu, &Gpu::has_used_memory_bytes, &Gpu::used_memory_bytes, labels);
      power.add(gpu, &Gpu::has_power_watts, &Gpu::power_watts, labels);
      clock.add(gpu, &Gpu::has_sm_clock_hertz, &Gpu::sm_clock_hertz, labels);
      heat.add(gpu, &Gpu::has_temperature_celsius, &Gpu::temperature_celsius, labels);
      errors.add(gpu, &Gpu::has_corrected_errors, &Gpu::corrected_errors,
                 with("kind", "corrected"));
      errors.add(gpu, &Gpu::has_uncorrected_errors, &Gpu::uncorrected_errors,
                 with("kind", "uncorrected"));
      for (const std::string& reason : gpu.clock_limits()) limits.add(1, with("reason", reason));
    }
  for (Family* const family : {&busy, &memory, &used, &power, &clock, &heat, &errors, &limits})
    page.add(std::move(*family));
}

Labels labels_of(const v1::Rank& rank) {
  return {{"rank", std::to_string(rank.member().index())}, {"host", rank.host()}};
}

struct WorkField {
  const char* name;
  const char* help;
  double (*value)(const v1::Work&);
  bool is_gauge = false;
};

constexpr WorkField kWorkFields[] = {
    {"paceline_rank_steps_total", "Steps of the rank",
     [](const v1::Work& work) { return static_cast<double>(work.steps()); }},
    {"paceline_rank_samples_total", "Samples of the rank",
     [](const v1::Work& work) { return static_cast<double>(work.samples()); }},
    {"paceline_rank_throttled_seconds_total",
     "Time in which the quota of the rank's control group held it",
     [](const v1::Work& work) { return work.throttled_seconds(); }},
    {"paceline_rank_major_faults_total", "Pages of the rank that were read from a disk",
     [](const v1::Work& work) { return static_cast<double>(work.major_faults()); }},
    {"paceline_rank_resident_bytes", "Memory of the rank",
     [](const v1::Work& work) { return static_cast<double>(work.resident_bytes()); }, true}};

struct WorkPart {
  const char* name;
  double (v1::Work::*seconds)() const;
};

void add_parts(const v1::Snapshot& snapshot, const char* name, const char* help, const char* label,
               std::initializer_list<WorkPart> parts, Page& page) {
  Family family = counter(name, help);
  for (const v1::Rank& rank : snapshot.ranks()) {
    if (!rank.has_work()) continue;
    for (const WorkPart& part : parts) {
      Labels labels = labels_of(rank);
      labels.push_back({label, part.name});
      family.add((rank.work().*part.seconds)(), std::move(labels));
    }
  }
  page.add(std::move(family));
}

void add_ranks(const v1::Snapshot& snapshot, Page& page) {
  std::array<int, 3> states{};  // waiting, running, ended
  for (const v1::Rank& rank : snapshot.ranks()) {
    const int state = static_cast<int>(rank.state()) - 1;
    if (state >= 0 && state < 3) ++states[static_cast<std::size_t>(state)];
  }
  Family ranks = gauge("paceline_ranks", "Number of ranks by state");
  ranks.add(states[0], {{"state", "waiting"}});
  ranks.add(states[1], {{"state", "running"}});
  ranks.add(states[2], {{"state", "ended"}});
  page.add(std::move(ranks));
  for (const WorkField& field : kWorkFields) {
    Family family =
        field.is_gauge ? gauge(field.name, field.help) : counter(field.name, field.help);
    for (const v1::Rank& rank : snapshot.ranks())
      if (rank.has_work()) family.add(field.value(rank.work()), labels_of(rank));
    page.add(std::move(family));
  }
  Family pressure = counter("paceline_rank_pressure_seconds_total", kPressureHelp);
  Family disks = counter("paceline_rank_disk_bytes_total", kDiskHelp);
  Family gpus = gauge("paceline_rank_gpu_info", "The GPU of the rank; the value is always 1");
  for (const v1::Rank& rank : snapshot.ranks()) {
    Labels labels = labels_of(rank);
    add_pressure(rank.work(), labels, pressure);
    add_disks(rank.work(), labels, disks);
    labels.push_back({"gpu", std::to_string(rank.work().gpu())});
    if (rank.work().has_gpu()) gpus.add(1, std::move(labels));
  }
  for (Family* const family : {&pressure, &disks, &gpus}) page.add(std::move(*family));
  add_parts(snapshot, "paceline_rank_step_seconds_total", "Time of the rank's steps by part",
            "part",
            {{"compute", &v1::Work::compute_seconds},
             {"communication", &v1::Work::communication_seconds},
             {"input", &v1::Work::input_seconds},
             {"other", &v1::Work::other_seconds}},
            page);
  add_parts(snapshot, "paceline_rank_thread_seconds_total",
            "Time of the thread that marks the steps by state", "state",
            {{"running", &v1::Work::running_seconds},
             {"queued", &v1::Work::queued_seconds},
             {"stopped", &v1::Work::stopped_seconds},
             {"blocked", &v1::Work::blocked_seconds}},
            page);
}

void add_operations(const v1::Performance& performance, Page& page) {
  Family count = counter("paceline_operations_total", "Operations by communicator and kind");
  Family bytes = counter("paceline_operation_bytes_total", "Bytes of their arrays on one rank");
  Family seconds =
      counter("paceline_operation_seconds_total", "Time from call to end, a mean over ranks");
  Family exposed = counter("paceline_operation_exposed_seconds_total",
                           "Time in which ranks did nothing else, a mean over ranks");
  // Communicators of one name count together: a series is given once.
  std::map<std::tuple<std::string, std::string, std::uint32_t>, v1::OperationTotal> sums;
  for (const v1::OperationTotal& one : performance.operations()) {
    v1::OperationTotal& sum = sums[{one.communicator(), one.kind(), one.rank_count()}];
    sum.set_count(sum.count() + one.count());
    sum.set_bytes(sum.bytes() + one.bytes());
    sum.set_seconds(sum.seconds() + one.seconds());
    sum.set_exposed_seconds(sum.exposed_seconds() + one.exposed_seconds());
  }
  for (const auto& [key, sum] : sums) {
    const auto& [communicator, kind, ranks] = key;
    const Labels labels{
        {"communicator", communicator}, {"kind", kind}, {"ranks", std::to_string(ranks)}};
    count.add(static_cast<double>(sum.count()), labels);
    bytes.add(static_cast<double>(sum.bytes()), labels);
    seconds.add(sum.seconds(), labels);
    exposed.add(sum.exposed_seconds(), labels);
  }
  for (Family* const family : {&count, &bytes, &seconds, &exposed}) page.add(std::move(*family));
}

void add_links(const v1::Performance& performance, Page& page) {
  Family bytes = counter("paceline_link_bytes_total", "Bytes that a host sent to another by TCP");
  Family resent = counter("paceline_link_resent_bytes_total", "Bytes of them that were sent again");
  Family busy = counter("paceline_link_busy_seconds_total",
                        "Time in which data was on its way and the receiver had room");
  for (const v1::Link& link : performance.links()) {
    const Labels labels{{"from", link.from()}, {"to", link.to()}};
    bytes.add(static_cast<double>(link.bytes()), labels);
    resent.add(static_cast<double>(link.resent_bytes()), labels);
    busy.add(link.busy_seconds(), labels);
  }
  for (Family* const family : {&bytes, &resent, &busy}) page.add(std::move(*family));
}

void add_performance(const v1::Snapshot& snapshot, Page& page) {
  if (!snapshot.has_performance()) return;
  const v1::Performance& performance = snapshot.performance();
  Family spent = gauge("paceline_time_ratio",
                       "Shares of the time of steps by part, since the latest start of the ranks");
  for (const v1::TimeShare& share : performance.shares())
    spent.add(share.share(), {{"part", share.name()}});
  page.add(std::move(spent));
  Family steps = counter("paceline_steps_total", "Steps of the rank with the most");
  steps.add(static_cast<double>(performance.steps()));
  page.add(std::move(steps));
  page.add("paceline_samples_per_second",
           "Samples of all ranks a second of steps, since their latest start",
           performance.samples_per_second());
  page.add("paceline_flop_per_second", "Floating-point operations of all ranks a second, as marked",
           performance.flop_per_second());
  if (performance.has_mfu())
    page.add("paceline_mfu_ratio", "FLOP/s of all ranks, as a share of their stated peak",
             performance.mfu());
  Family waited = gauge("paceline_waited_for_ratio",
                        "Share of the time that ranks waited for this rank, a mean over ranks");
  for (const v1::WaitedFor& one : performance.waited_for()) {
    const auto rank = static_cast<int>(one.member().index());
    if (rank < 0 || rank >= snapshot.ranks_size()) continue;
    waited.add(one.share(), {{"rank", std::to_string(rank)},
                             {"host", snapshot.ranks(rank).host()},
                             {"cause", one.cause()}});
  }
  page.add(std::move(waited));
  add_operations(performance, page);
  add_links(performance, page);
}

}  // namespace

std::string metrics_text(const v1::Snapshot& snapshot) {
  Page page;
  add_job(snapshot, page);
  add_hosts(snapshot, page);
  add_host_use(snapshot, page);
  add_gpus(snapshot, page);
  add_ranks(snapshot, page);
  add_performance(snapshot, page);
  return page.text();
}

}  // namespace paceline::launcher
