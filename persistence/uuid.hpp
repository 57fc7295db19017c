// persistence/uuid.hpp -- job ids: UUIDv7 (RFC 9562, section 5.7).
#pragma once

#include <string>
#include <string_view>

namespace reeve {

/// A new UUIDv7 in lower case: 48 bits of Unix milliseconds, then random bits.
/// Ids made by one thread grow. Thread-safe.
std::string make_uuid();

/// As large as an id can be.
inline constexpr std::string_view last_uuid =
  "ffffffff-ffff-ffff-ffff-ffffffffffff";

/// True for the canonical lower- or upper-case 8-4-4-4-12 form.
bool is_uuid(std::string_view text);

} // namespace reeve
