// actors/gateway/fields.cpp -- one message for each way to be wrong.
#include "actors/gateway/fields.hpp"

#include "actors/gateway/rfc3339.hpp"

#include <algorithm>
#include <charconv>

namespace reeve {

namespace {

constexpr std::string_view time_rule =
  "must be an RFC 3339 time like 2026-03-01T09:30:00Z";

} // namespace

fields::fields(const nlohmann::json& object, std::string where,
               std::initializer_list<std::string_view> allowed)
  : object_(object), where_(std::move(where)) {
  if (!object.is_object())
    throw bad_request((where_.empty() ? "The body" : where_)
                      + " must be a JSON object");
  for (const auto& [name, value] : object.items()) {
    if (std::find(allowed.begin(), allowed.end(), name) != allowed.end())
      continue;
    std::string list;
    for (auto known : allowed)
      list += (list.empty() ? "" : ", ") + std::string{known};
    throw bad_request("Unknown field " + where_ + '/' + name + "; allowed are "
                      + list);
  }
}

std::string fields::text(std::string_view name, size_t longest) const {
  if (auto result = optional_text(name, longest))
    return *result;
  refuse(name,
         "required: a string of 1 to " + std::to_string(longest) + " bytes");
}

std::optional<std::string> fields::optional_text(std::string_view name,
                                                 size_t longest) const {
  const auto* value = find(name);
  if (value == nullptr)
    return {};
  if (value->is_string()) {
    const auto& text = value->get_ref<const std::string&>();
    if (!text.empty() && text.size() <= longest)
      return text;
  }
  refuse(name,
         "must be a string of 1 to " + std::to_string(longest) + " bytes");
}

std::optional<int64_t> fields::optional_integer(std::string_view name,
                                                int64_t lowest,
                                                int64_t highest) const {
  const auto* value = find(name);
  if (value == nullptr)
    return {};
  if (value->is_number_integer()
      && !(value->is_number_unsigned()
           && value->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))) {
    auto number = value->get<int64_t>();
    if (number >= lowest && number <= highest)
      return number;
  }
  refuse(name,
         "must be a whole number from " + std::to_string(lowest) + " to "
           + std::to_string(highest));
}

std::optional<timestamp> fields::optional_time(std::string_view name) const {
  const auto* value = find(name);
  if (value == nullptr)
    return {};
  if (value->is_string())
    if (auto result = from_rfc3339(value->get_ref<const std::string&>()))
      return result;
  refuse(name, std::string{time_rule});
}

bool fields::flag(std::string_view name) const {
  const auto* value = find(name);
  if (value == nullptr)
    return false;
  if (value->is_boolean())
    return value->get<bool>();
  refuse(name, "must be true or false");
}

bool fields::has_object(std::string_view name) const {
  const auto* value = find(name);
  if (value == nullptr)
    return false;
  if (value->is_object())
    return true;
  refuse(name, "must be a JSON object");
}

const nlohmann::json& fields::array(std::string_view name,
                                    size_t longest) const {
  const auto* value = find(name);
  if (value != nullptr && value->is_array() && !value->empty()
      && value->size() <= longest)
    return *value;
  refuse(name,
         "must be an array of 1 to " + std::to_string(longest) + " elements");
}

// A null is as good as an absent field: that is how clients spell "none".
const nlohmann::json* fields::find(std::string_view name) const {
  auto i = object_.find(name);
  return i != object_.end() && !i->is_null() ? &*i : nullptr;
}

void fields::refuse(std::string_view name, const std::string& allowed) const {
  throw bad_request(where_ + '/' + std::string{name} + ' ' + allowed);
}

int64_t parse_integer(std::string_view name, std::string_view text,
                      int64_t lowest, int64_t highest) {
  int64_t result = 0;
  const auto* last = text.data() + text.size();
  auto [end, err] = std::from_chars(text.data(), last, result);
  if (err != std::errc{} || end != last || result < lowest || result > highest)
    throw bad_request(std::string{name} + " must be a whole number from "
                      + std::to_string(lowest) + " to "
                      + std::to_string(highest));
  return result;
}

timestamp parse_time(std::string_view name, std::string_view text) {
  if (auto result = from_rfc3339(text))
    return *result;
  throw bad_request(std::string{name} + ' ' + std::string{time_rule});
}

} // namespace reeve
