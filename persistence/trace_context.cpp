// persistence/trace_context.cpp -- the grammar of the two header fields.
#include "persistence/trace_context.hpp"

#include "persistence/uuid.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace reeve {

namespace {

// `VV-TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT-PPPPPPPPPPPPPPPP-FF`
constexpr size_t parent_size = 55;
constexpr size_t trace_at = 3;
constexpr size_t trace_size = 32;
constexpr size_t span_at = 36;
constexpr size_t span_size = 16;
constexpr size_t flags_at = 53;

/// `sampled`, and `random-trace-id` of level 2.
constexpr int known_flags = 0x03;

constexpr size_t max_state_bytes = 512;
constexpr size_t max_state_members = 32;
constexpr size_t max_key_bytes = 256;
constexpr size_t max_value_bytes = 256;
/// Longer members go first when the whole is too long.
constexpr size_t max_kept_member_bytes = 128;

constexpr std::string_view digits = "0123456789abcdef";

bool is_hex(std::string_view text) {
  return text.find_first_not_of(digits) == std::string_view::npos;
}

bool is_zero(std::string_view text) {
  return text.find_first_not_of('0') == std::string_view::npos;
}

bool is_parent(std::string_view text) {
  if (text.size() < parent_size || text[2] != '-' || text[trace_at - 1] != '-'
      || text[span_at - 1] != '-' || text[flags_at - 1] != '-')
    return false;
  const auto version = text.substr(0, 2);
  // What a later version has behind the flags is its own matter.
  if (text.size() > parent_size
      && (version == "00" || text[parent_size] != '-'))
    return false;
  const auto trace = text.substr(trace_at, trace_size);
  const auto span = text.substr(span_at, span_size);
  return is_hex(version) && version != "ff" && is_hex(trace) && !is_zero(trace)
    && is_hex(span) && !is_zero(span) && is_hex(text.substr(flags_at, 2));
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_key(std::string_view text) {
  auto is_start = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  auto may_follow = [&](char c) {
    return is_start(c) || std::string_view{"_-*/@"}.find(c) != text.npos;
  };
  return !text.empty() && text.size() <= max_key_bytes && is_start(text[0])
    && std::ranges::all_of(text, may_follow);
}

bool is_value(std::string_view text) {
  auto may_stand = [](char c) {
    return c >= 0x20 && c <= 0x7e && c != ',' && c != '=';
  };
  return !text.empty() && text.size() <= max_value_bytes && text.back() != ' '
    && std::ranges::all_of(text, may_stand);
}

struct state_member {
  std::string_view key;
  std::string_view text;
};

// Empty when one of them is invalid: then all are worth nothing.
std::vector<state_member> members_of(std::string_view text) {
  std::vector<state_member> result;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    const auto member = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (member.empty())
      continue;
    const auto equals = member.find('=');
    if (equals == member.npos)
      return {};
    const auto key = member.substr(0, equals);
    auto is_same = [key](const state_member& x) { return x.key == key; };
    if (!is_key(key) || !is_value(member.substr(equals + 1))
        || result.size() == max_state_members
        || std::ranges::any_of(result, is_same))
      return {};
    result.push_back({key, member});
  }
  return result;
}

size_t size_of(const std::vector<state_member>& xs) {
  size_t result = xs.empty() ? 0 : xs.size() - 1;
  for (const auto& x : xs)
    result += x.text.size();
  return result;
}

// Of what is too long the longest members go, then the oldest, as the standard
// has it.
std::string read_state(std::string_view text) {
  auto members = members_of(text);
  for (auto i = members.size(); i-- > 0 && size_of(members) > max_state_bytes;)
    if (members[i].text.size() > max_kept_member_bytes)
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(i));
  while (size_of(members) > max_state_bytes)
    members.pop_back();
  std::string result;
  for (const auto& x : members)
    result.append(result.empty() ? "" : ",").append(x.text);
  return result;
}

} // namespace

std::string_view trace_context::id() const {
  if (parent.size() < parent_size)
    return {};
  return std::string_view{parent}.substr(trace_at, trace_size);
}

trace_context read_trace(std::string_view traceparent,
                         std::string_view tracestate) {
  if (!is_parent(traceparent))
    return {};
  const auto high = digits.find(traceparent[flags_at]);
  const auto low = digits.find(traceparent[flags_at + 1]);
  const auto flags = static_cast<int>(high * 16 + low) & known_flags;
  trace_context result;
  result.parent = "00";
  result.parent += traceparent.substr(2, flags_at - 2);
  result.parent += '0';
  result.parent += digits[static_cast<size_t>(flags)];
  result.state = read_state(tracestate);
  return result;
}

trace_context child_of(const trace_context& x) {
  if (!is_parent(x.parent))
    return {};
  auto result = x;
  // All but two bits behind a UUIDv7's third dash are random, and those two are
  // never both zero.
  const auto random = make_uuid();
  result.parent.replace(span_at, span_size,
                        random.substr(19, 4) + random.substr(24));
  return result;
}

} // namespace reeve
