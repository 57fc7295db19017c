// net/target.hpp -- request targets (RFC 9112, section 3.2), decoded.
#pragma once

#include "net/http.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace reeve::net {

/// True for `host` or `host:port` as a Host field may have it; not empty.
bool is_authority(std::string_view text) noexcept;

/// Fills target, segments and query of `request` from `raw`, and the field
/// `host` when `raw` is in absolute form. Gives the reason when it is refused.
std::optional<std::string> parse_target(std::string_view raw,
                                        http_request& request);

} // namespace reeve::net
