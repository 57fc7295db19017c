// net/base64.hpp -- base64 (RFC 4648, section 4), strictly.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace reeve::net {

/// The bytes; none for anything but whole groups of the standard alphabet with
/// their padding: no white space, no bits behind the last byte.
std::optional<std::string> base64_decoded(std::string_view text);

} // namespace reeve::net
