#include "launcher/tools/measure/probe/loop/orders.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "comm/base/text.h"
#include "launcher/tools/measure/probe/loop/in_parts.h"
#include "launcher/tools/measure/probe/loop/operation.h"

namespace paceline::probe {
namespace {

struct Field {
  std::string_view name;
  std::string (*write)(const Orders&);
  bool (*read)(std::string_view, Orders&);
};

template <auto Member>
std::string write_text(const Orders& orders) {
  return orders.*Member;
}
template <auto Member>
bool read_text(std::string_view text, Orders& orders) {
  orders.*Member = std::string(text);
  return true;
}

template <auto Member>
std::string write_number(const Orders& orders) {
  return std::to_string(orders.*Member);
}
template <auto Member, auto Low>
bool read_number(std::string_view text, Orders& orders) {
  using Number = std::remove_reference_t<decltype(orders.*Member)>;
  const auto number = parse_number<Number>(text);
  if (!number || *number < static_cast<Number>(Low)) return false;
  orders.*Member = *number;
  return true;
}

template <auto Member>
std::string write_flag(const Orders& orders) {
  return orders.*Member ? "yes" : "no";
}
template <auto Member>
bool read_flag(std::string_view text, Orders& orders) {
  orders.*Member = text == "yes";
  return text == "yes" || text == "no";
}

template <auto Member>
std::string write_name(const Orders& orders) {
  return std::string(name(orders.*Member));
}
template <auto Member, const auto& All>
bool read_name(std::string_view text, Orders& orders) {
  const auto* const found = std::find_if(std::begin(All), std::end(All),
                                         [text](auto value) { return name(value) == text; });
  if (found == std::end(All)) return false;
  orders.*Member = *found;
  return true;
}

bool read_operation(std::string_view text, Orders& orders) {
  orders.operation = std::string(text);
  return find_operation(text) != nullptr;
}

bool read_parts(std::string_view text, Orders& orders) {
  orders.parts = std::string(text);
  return InParts::find(text) != nullptr;
}

constexpr Field kFields[] = {
    {"operation", write_text<&Orders::operation>, read_operation},
    {"type", write_name<&Orders::type>, read_name<&Orders::type, kDataTypes>},
    {"op", write_name<&Orders::op>, read_name<&Orders::op, kReduceOps>},
    {"root", write_number<&Orders::root>, read_number<&Orders::root, 0>},
    {"in_place", write_flag<&Orders::in_place>, read_flag<&Orders::in_place>},
    {"registered", write_flag<&Orders::registered>, read_flag<&Orders::registered>},
    {"on_gpu", write_flag<&Orders::on_gpu>, read_flag<&Orders::on_gpu>},
    {"cold", write_flag<&Orders::cold>, read_flag<&Orders::cold>},
    {"check", write_flag<&Orders::check>, read_flag<&Orders::check>},
    {"limits", write_flag<&Orders::limits>, read_flag<&Orders::limits>},
    {"low_bytes", write_number<&Orders::low_bytes>, read_number<&Orders::low_bytes, 1>},
    {"high_bytes", write_number<&Orders::high_bytes>, read_number<&Orders::high_bytes, 1>},
    {"factor", write_number<&Orders::factor>, read_number<&Orders::factor, 2>},
    {"time_ms", write_number<&Orders::time_ms>, read_number<&Orders::time_ms, 1>},
    {"meeting", write_text<&Orders::meeting>, read_text<&Orders::meeting>},
    {"raw", write_text<&Orders::raw>, read_text<&Orders::raw>},
    {"parts", write_text<&Orders::parts>, read_parts},
    {"turns", write_text<&Orders::turns>, read_text<&Orders::turns>},
    {"contender", write_number<&Orders::contender>, read_number<&Orders::contender, 0>},
    {"contenders", write_number<&Orders::contenders>, read_number<&Orders::contenders, 1>},
    {"rounds", write_number<&Orders::rounds>, read_number<&Orders::rounds, 1>},
};

}  // namespace

std::vector<std::size_t> Orders::sizes() const {
  const Operation* const found = find_operation(operation);
  if (found == nullptr || !found->has_arrays()) return {0};
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = low_bytes; bytes <= high_bytes; bytes *= factor) {
    const std::size_t whole = bytes / size_of(type) * size_of(type);
    if (whole > 0 && (sizes.empty() || sizes.back() != whole)) sizes.push_back(whole);
    if (bytes > high_bytes / factor) break;
  }
  return sizes;
}

std::vector<std::string> to_words(const Orders& orders) {
  std::vector<std::string> words;
  for (const Field& field : kFields) {
    const std::string value = field.write(orders);
    if (value != field.write(Orders())) words.push_back(std::string(field.name) + "=" + value);
  }
  return words;
}

Result<Orders> parse_orders(std::span<const std::string> words) {
  Orders orders;
  for (const std::string& word : words) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const auto* const field =
        std::find_if(std::begin(kFields), std::end(kFields), [&](const Field& candidate) {
          return candidate.name == std::string_view(word).substr(0, equals);
        });
    if (equals == word.size() || field == std::end(kFields) ||
        !field->read(std::string_view(word).substr(equals + 1), orders))
      return Status(Code::kInvalidArgument, Scope::kProcess,
                    "'" + word + "' is not a valid setting");
  }
  return orders;
}

}  // namespace paceline::probe
