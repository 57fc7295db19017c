// net/json.hpp -- JSON from strangers: strict, bounded, never recursive.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace reeve::net {

struct json_limits {
  size_t depth = 64;
  /// Objects' members and arrays' elements together.
  size_t elements = 100'000;
};

/// What was wrong with a JSON text and where, for the sender.
class json_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Parses one JSON text. Throws `json_error`, whose message names the place
/// as a JSON pointer or byte offset, for: malformed text, invalid UTF-8,
/// U+0000 in a string or name, a name twice in one object, numbers beyond
/// what both stores give back unchanged (non-finite, integers outside the 64
/// bit range), depth or elements over the limit.
nlohmann::json parse_json(std::string_view text, json_limits limits = {});

/// Serializes; ill-formed UTF-8 becomes U+FFFD, so that it cannot throw.
std::string dump_json(const nlohmann::json& value);

} // namespace reeve::net
