// actors/gateway/json_values.hpp -- values that may be absent, as JSON.
#pragma once

#include "actors/gateway/json.hpp"
#include "actors/gateway/rfc3339.hpp"

#include <optional>
#include <string>

namespace reeve {

template <class T>
ordered_json or_null(const std::optional<T>& x) {
  return x ? ordered_json(*x) : ordered_json(nullptr);
}

inline ordered_json or_null(const std::optional<timestamp>& x) {
  return x ? ordered_json(to_rfc3339(*x)) : ordered_json(nullptr);
}

/// Null for an empty text.
inline ordered_json empty_as_null(const std::string& x) {
  return x.empty() ? ordered_json(nullptr) : ordered_json(x);
}

} // namespace reeve
