// Events of Chrome's JSON trace event format as text. Its readers are ui.perfetto.dev and
// chrome://tracing. Pure.
//
// The text is a JSON array with an event a line. The format allows that the "]" is missing, so a
// file of whole events is readable while it grows. The source is "Trace Event Format" by Nat Duca
// and Dan Sinclair, in the documentation of the Catapult project.
//
//   TraceText text;
//   text.name_thread({.process = 1, .thread = 2}, "rank 0", 0);
//   text.slice({.process = 1, .thread = 2}, "barrier", begin, length, TraceArguments());
//   file << text.take();
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "comm/base/clock.h"

namespace paceline {

/// Numbers of a process and of a thread. The pair is unique in a trace.
struct TraceThread {
  int process = 0;
  int thread = 0;
};

/// The arguments of an event, in the order in which they are added. Keys are plain words.
class TraceArguments {
 public:
  TraceArguments& add(std::string_view key, std::string_view text);
  TraceArguments& add(std::string_view key, std::uint64_t number);
  /// With 3 decimals.
  TraceArguments& add(std::string_view key, double number);
  /// In microseconds.
  TraceArguments& add(std::string_view key, Duration time);
  const std::string& json() const { return json_; }

 private:
  void add_raw(std::string_view key, std::string_view value);

  std::string json_;
};

/// Times are those after the begin of the trace, and not negative. Names may hold any bytes:
/// control characters and bytes that are not UTF-8 are replaced, and long names are cut.
class TraceText {
 public:
  static constexpr std::size_t kMostName = 500;

  /// Processes are shown in the order of their numbers.
  void name_process(int process, std::string_view name);
  /// Shown beside its name. The last one counts.
  void label_process(int process, std::string_view label);
  /// Threads of a process are shown by `order`.
  void name_thread(TraceThread thread, std::string_view name, int order);
  void slice(TraceThread thread, std::string_view name, Duration begin, Duration length,
             const TraceArguments& arguments);
  /// An arrow between two slices that have been added. The times lie in them, before their ends.
  /// Each flow needs a number of its own.
  void flow(std::uint64_t number, TraceThread from, Duration begin, TraceThread to, Duration end);
  /// A curve for each argument. The values hold from `when` to the next event of the name.
  void counter(TraceThread thread, std::string_view name, Duration when,
               const TraceArguments& values);
  void instant(TraceThread thread, std::string_view name, Duration when);
  /// An instant that is shown across all threads.
  void global_instant(TraceThread thread, std::string_view name, Duration when);
  /// Nothing may follow.
  void close() { text_ += "\n]\n"; }

  /// The events since the last call. The texts of all calls make the file.
  std::string take();
  /// Bytes that take() would return.
  std::size_t size() const { return text_.size(); }

 private:
  struct Event;
  void begin_event(const Event& event);
  void end_event(std::string_view more);

  std::string text_;
  bool has_events_ = false;  // also those that were taken
};

}  // namespace paceline
