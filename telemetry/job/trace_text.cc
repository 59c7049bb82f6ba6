#include "telemetry/job/trace_text.h"

#include <cstdio>
#include <utility>

#include "comm/base/text.h"

namespace paceline {
namespace {

void append_quoted(std::string& to, std::string_view text) {
  to += '"';
  for (const char one : printable(text.substr(0, TraceText::kMostName))) {
    if (one == '"' || one == '\\') to += '\\';
    to += one;
  }
  to += '"';
}

// "12.345"
std::string microseconds(Duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(time.count() / 1000),
                static_cast<long long>(time.count() % 1000));
  return text;
}

std::string in_arguments(const TraceArguments& arguments) {
  return ",\"args\":{" + arguments.json() + "}";
}

}  // namespace

// ---- Arguments -----------------------------------------------------------------------------

void TraceArguments::add_raw(std::string_view key, std::string_view value) {
  if (!json_.empty()) json_ += ',';
  json_.append("\"").append(key).append("\":").append(value);
}

TraceArguments& TraceArguments::add(std::string_view key, std::string_view text) {
  std::string value;
  append_quoted(value, text);
  add_raw(key, value);
  return *this;
}

TraceArguments& TraceArguments::add(std::string_view key, std::uint64_t number) {
  add_raw(key, std::to_string(number));
  return *this;
}

TraceArguments& TraceArguments::add(std::string_view key, double number) {
  char value[64];
  std::snprintf(value, sizeof value, "%.3f", number);
  add_raw(key, value);
  return *this;
}

TraceArguments& TraceArguments::add(std::string_view key, Duration time) {
  add_raw(key, microseconds(time));
  return *this;
}

// ---- Events --------------------------------------------------------------------------------

struct TraceText::Event {
  const char* phase;
  std::string_view name;
  const char* category;  // null: none
  TraceThread thread;
  Duration when{};
};

void TraceText::begin_event(const Event& event) {
  text_ += std::exchange(has_events_, true) ? ",\n" : "[\n";
  text_.append("{\"ph\":\"").append(event.phase).append("\",\"name\":");
  append_quoted(text_, event.name);
  if (event.category != nullptr) text_.append(",\"cat\":\"").append(event.category).append("\"");
  text_.append(",\"pid\":").append(std::to_string(event.thread.process));
  text_.append(",\"tid\":").append(std::to_string(event.thread.thread));
  text_.append(",\"ts\":").append(microseconds(event.when));
}

void TraceText::end_event(std::string_view more) { text_.append(more).append("}"); }

void TraceText::name_process(int process, std::string_view name) {
  const TraceThread first{.process = process, .thread = process};
  begin_event({.phase = "M", .name = "process_name", .category = nullptr, .thread = first});
  end_event(in_arguments(TraceArguments().add("name", name)));
  begin_event({.phase = "M", .name = "process_sort_index", .category = nullptr, .thread = first});
  end_event(in_arguments(TraceArguments().add("sort_index", static_cast<std::uint64_t>(process))));
}

void TraceText::label_process(int process, std::string_view label) {
  const TraceThread first{.process = process, .thread = process};
  begin_event({.phase = "M", .name = "process_labels", .category = nullptr, .thread = first});
  end_event(in_arguments(TraceArguments().add("labels", label)));
}

void TraceText::name_thread(TraceThread thread, std::string_view name, int order) {
  begin_event({.phase = "M", .name = "thread_name", .category = nullptr, .thread = thread});
  end_event(in_arguments(TraceArguments().add("name", name)));
  begin_event({.phase = "M", .name = "thread_sort_index", .category = nullptr, .thread = thread});
  end_event(in_arguments(TraceArguments().add("sort_index", static_cast<std::uint64_t>(order))));
}

void TraceText::slice(TraceThread thread, std::string_view name, Duration begin, Duration length,
                      const TraceArguments& arguments) {
  begin_event(
      {.phase = "X", .name = name, .category = "operation", .thread = thread, .when = begin});
  end_event(",\"dur\":" + microseconds(length) + in_arguments(arguments));
}

// Readers match the two by number, name and category.
void TraceText::flow(std::uint64_t number, TraceThread from, Duration begin, TraceThread to,
                     Duration end) {
  const std::string id = ",\"id\":" + std::to_string(number);
  begin_event(
      {.phase = "s", .name = "waited for", .category = "wait", .thread = from, .when = begin});
  end_event(id);
  begin_event({.phase = "f", .name = "waited for", .category = "wait", .thread = to, .when = end});
  end_event(id + ",\"bp\":\"e\"");
}

void TraceText::counter(TraceThread thread, std::string_view name, Duration when,
                        const TraceArguments& values) {
  begin_event({.phase = "C", .name = name, .category = nullptr, .thread = thread, .when = when});
  end_event(in_arguments(values));
}

void TraceText::instant(TraceThread thread, std::string_view name, Duration when) {
  begin_event({.phase = "i", .name = name, .category = "job", .thread = thread, .when = when});
  end_event(",\"s\":\"t\"");
}

void TraceText::global_instant(TraceThread thread, std::string_view name, Duration when) {
  begin_event({.phase = "i", .name = name, .category = "job", .thread = thread, .when = when});
  end_event(",\"s\":\"g\"");
}

std::string TraceText::take() { return std::exchange(text_, {}); }

}  // namespace paceline
