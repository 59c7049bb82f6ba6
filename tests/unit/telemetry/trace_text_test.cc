#include "telemetry/job/trace_text.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace paceline {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr TraceThread kThread{.process = 2, .thread = 100003};
constexpr TraceThread kOther{.process = 3, .thread = 100007};

TEST(TraceText, NamesHaveAnOrder) {
  TraceText text;
  text.name_process(2, "host h1");
  text.name_thread(kThread, "rank 3", 24);
  text.close();
  EXPECT_EQ(text.take(),
            R"([
{"ph":"M","name":"process_name","pid":2,"tid":2,"ts":0.000,"args":{"name":"host h1"}},
{"ph":"M","name":"process_sort_index","pid":2,"tid":2,"ts":0.000,"args":{"sort_index":2}},
{"ph":"M","name":"thread_name","pid":2,"tid":100003,"ts":0.000,"args":{"name":"rank 3"}},
{"ph":"M","name":"thread_sort_index","pid":2,"tid":100003,"ts":0.000,"args":{"sort_index":24}}
]
)");
}

TEST(TraceText, EventsOfEachKind) {
  TraceText text;
  text.slice(kThread, "all_reduce", nanoseconds(1234567), microseconds(20),
             TraceArguments().add("group", "all ranks").add("sequence", std::uint64_t{7}));
  text.flow(5, kOther, microseconds(1300), kThread, microseconds(1301));
  text.counter(kThread, "rank 3", nanoseconds(5),
               TraceArguments().add("compute", 0.75).add("late_us", nanoseconds(1500)));
  text.instant(kThread, "rank 3 exited with code 1", nanoseconds(0));
  text.global_instant(kThread, "4 ranks start", nanoseconds(999));
  EXPECT_EQ(text.take(),
            R"([
{"ph":"X","name":"all_reduce","cat":"operation","pid":2,"tid":100003,"ts":1234.567,)"
            R"("dur":20.000,"args":{"group":"all ranks","sequence":7}},
{"ph":"s","name":"waited for","cat":"wait","pid":3,"tid":100007,"ts":1300.000,"id":5},
{"ph":"f","name":"waited for","cat":"wait","pid":2,"tid":100003,"ts":1301.000,"id":5,"bp":"e"},
{"ph":"C","name":"rank 3","pid":2,"tid":100003,"ts":0.005,"args":{"compute":0.750,"late_us":1.500}},
{"ph":"i","name":"rank 3 exited with code 1","cat":"job","pid":2,"tid":100003,"ts":0.000,"s":"t"},
{"ph":"i","name":"4 ranks start","cat":"job","pid":2,"tid":100003,"ts":0.999,"s":"g"})");
}

// So a file of such texts is valid, with a "]", after each of them.
TEST(TraceText, PartsAreWholeEvents) {
  TraceText text;
  EXPECT_EQ(text.take(), "");
  text.instant(kThread, "a", nanoseconds(0));
  EXPECT_TRUE(text.take().starts_with("[\n{"));
  EXPECT_EQ(text.take(), "");
  text.instant(kThread, "b", nanoseconds(0));
  text.instant(kThread, "c", nanoseconds(0));
  const std::string second = text.take();
  EXPECT_TRUE(second.starts_with(",\n{"));
  EXPECT_TRUE(second.ends_with("}"));
  text.close();
  EXPECT_EQ(text.take(), "\n]\n");
}

TEST(TraceText, NamesMayHoldAnyBytes) {
  TraceText text;
  text.instant(kThread, "a \"b\" \\ \n\x01 \xff", nanoseconds(0));
  EXPECT_NE(text.take().find(R"("name":"a \"b\" \\ ?? ?",)"), std::string::npos);
  text.instant(kThread, std::string(10000, 'x'), nanoseconds(0));
  EXPECT_LT(text.take().size(), TraceText::kMostName + 100);
}

}  // namespace
}  // namespace paceline
