// actors/gateway/rfc3339.hpp -- times as the API spells them.
#pragma once

#include "persistence/job.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace reeve {

/// UTC with milliseconds, e.g. `2026-03-01T09:30:00.250Z`, in a buffer of its
/// own.
class rfc3339_text {
public:
  explicit rfc3339_text(timestamp x);

  operator std::string_view() const { // NOLINT: it is one
    return {buffer_.data(), size_};
  }

private:
  std::array<char, 48> buffer_;
  size_t size_;
};

inline std::string to_rfc3339(timestamp x) {
  return std::string{std::string_view{rfc3339_text{x}}};
}

/// Parses RFC 3339 with `Z` or an offset and up to nine fraction digits; none
/// for anything else, also for dates that do not exist and leap seconds.
std::optional<timestamp> from_rfc3339(std::string_view text);

} // namespace reeve
