#include "launcher/tools/measure/probe/gradient/gradient_orders.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "comm/base/text.h"
#include "launcher/tools/measure/probe/gradient/trace.h"

namespace paceline::probe {
namespace {

struct Field {
  std::string_view name;
  std::string (*write)(const GradientOrders&);
  bool (*read)(std::string_view, GradientOrders&);
};

constexpr std::string_view kTasks[] = {"replay", "measure", "wire", "show"};

std::string write_task(const GradientOrders& orders) {
  return std::string(kTasks[static_cast<std::size_t>(orders.task)]);
}
bool read_task(std::string_view text, GradientOrders& orders) {
  const auto* const found = std::find(std::begin(kTasks), std::end(kTasks), text);
  if (found == std::end(kTasks)) return false;
  orders.task = static_cast<GradientTask>(found - std::begin(kTasks));
  return true;
}

template <auto Member>
std::string write_text(const GradientOrders& orders) {
  return orders.*Member;
}
template <auto Member>
bool read_text(std::string_view text, GradientOrders& orders) {
  orders.*Member = std::string(text);
  return !text.empty();
}
bool read_trace(std::string_view text, GradientOrders& orders) {
  orders.trace = std::string(text);
  return find_trace(text).has_value();
}

std::string write_number(double value) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.17g", value);
  return digits.data();
}
std::string write_number(int value) { return std::to_string(value); }

template <auto Member>
std::string write_value(const GradientOrders& orders) {
  return write_number(orders.*Member);
}
template <auto Member, int kLow>
bool read_value(std::string_view text, GradientOrders& orders) {
  using Number = std::remove_reference_t<decltype(orders.*Member)>;
  const auto number = parse_number<Number>(text);
  if (!number || !(*number >= Number{kLow})) return false;
  orders.*Member = *number;
  return true;
}
bool read_scale(std::string_view text, GradientOrders& orders) {
  return read_value<&GradientOrders::scale, 0>(text, orders) && orders.scale > 0 &&
         orders.scale <= 1;
}

std::string write_compute(const GradientOrders& orders) { return orders.burns ? "burn" : "sleep"; }
bool read_compute(std::string_view text, GradientOrders& orders) {
  orders.burns = text == "burn";
  return text == "burn" || text == "sleep";
}

constexpr Field kFields[] = {
    {"task", write_task, read_task},
    {"trace", write_text<&GradientOrders::trace>, read_trace},
    {"scale", write_value<&GradientOrders::scale>, read_scale},
    {"compute", write_compute, read_compute},
    {"compute_us", write_value<&GradientOrders::compute_us>,
     read_value<&GradientOrders::compute_us, 0>},
    {"burn_per_us", write_value<&GradientOrders::burn_per_us>,
     read_value<&GradientOrders::burn_per_us, 0>},
    {"reducer", write_text<&GradientOrders::reducer>, read_text<&GradientOrders::reducer>},
    {"codec", write_text<&GradientOrders::codec>, read_text<&GradientOrders::codec>},
    {"warm_ups", write_value<&GradientOrders::warm_ups>, read_value<&GradientOrders::warm_ups, 0>},
    {"turns", write_value<&GradientOrders::turns>, read_value<&GradientOrders::turns, 1>},
    {"steps", write_value<&GradientOrders::steps>, read_value<&GradientOrders::steps, 1>},
    {"timeout_s", write_value<&GradientOrders::timeout_s>,
     read_value<&GradientOrders::timeout_s, 1>},
};

}  // namespace

std::vector<std::string> to_words(const GradientOrders& orders) {
  std::vector<std::string> words;
  for (const Field& field : kFields) {
    const std::string value = field.write(orders);
    if (value != field.write(GradientOrders()))
      words.push_back(std::string(field.name).append("=").append(value));
  }
  return words;
}

Result<GradientOrders> parse_gradient_orders(std::span<const std::string> words) {
  GradientOrders orders;
  for (const std::string& word : words) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const auto name = std::string_view(word).substr(0, equals);
    const auto* const field =
        std::find_if(std::begin(kFields), std::end(kFields),
                     [name](const Field& candidate) { return candidate.name == name; });
    if (equals == word.size() || field == std::end(kFields) ||
        !field->read(std::string_view(word).substr(equals + 1), orders))
      return Status(Code::kInvalidArgument, Scope::kProcess,
                    "'" + word + "' is not a valid setting");
  }
  return orders;
}

}  // namespace paceline::probe
