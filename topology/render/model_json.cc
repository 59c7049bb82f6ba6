#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "topology/model/model_fields.h"
#include "topology/render/json_lines.h"
#include "topology/render/render.h"

namespace paceline::topology {
namespace {

Json to_json(const std::string& text) { return text; }
Json to_json(const CpuSet& cpus) { return cpus.to_text(); }
Json to_json(const BusId& bus) { return to_text(bus); }
// PCI IDs, as everybody writes them.
Json to_json(std::uint16_t id) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "0x";
  for (const int shift : {12, 8, 4, 0}) text += kDigits[id >> shift & 15];
  return text;
}
Json to_json(std::same_as<bool> auto value) { return value; }
Json to_json(std::same_as<int> auto value) { return value; }
Json to_json(std::same_as<std::uint64_t> auto value) { return value; }
template <HasWords T>
Json to_json(T value) {
  return Words<T>::kAll[static_cast<std::size_t>(value)];
}
template <class T>
Json to_json(const std::vector<T>& list);
template <HasFields T>
Json to_json(const T& value);

Json place_json(int place) { return place == kNone ? Json() : Json(place); }

template <class T, class Member>
void add(Json& into, const Field<T, Member>& field, const T& value) {
  into[std::string(field.key)] = to_json(value.*field.member);
}
template <class T>
void add(Json& into, const Field<T, int>& field, const T& value) {
  const int number = value.*field.member;
  into[std::string(field.key)] = field.is_place ? place_json(number) : Json(number);
}
// What nobody knows is left out.
template <class T, class Value>
void add(Json& into, const Field<T, Fact<Value>>& field, const T& value) {
  const Fact<Value>& fact = value.*field.member;
  if (!fact.is_known()) return;
  Json& said = into[std::string(field.key)];
  said["value"] = to_json(*fact);
  said["from"] = place_json(fact.source);
}

template <class T>
Json to_json(const std::vector<T>& list) {
  Json all = Json::array();
  for (const T& one : list) all.push_back(to_json(one));
  return all;
}

template <class T>
void add_all(Json& into, const T& value) {
  static_assert(HasAllFields<T>, "what is added to the model is added to Fields too");
  std::apply([&](const auto&... field) { (add(into, field, value), ...); }, fields_of<T>());
}

template <HasFields T>
Json to_json(const T& value) {
  Json object = Json::object();
  add_all(object, value);
  return object;
}

}  // namespace

std::string model_json_text(const HostModel& host) {
  Json document = {{"version", kModelVersion}};
  add_all(document, host);
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace paceline::topology
