// processors/webhook_redirect.hpp -- where a webhook may be sent on to.
#pragma once

#include <optional>
#include <string>

namespace reeve {

/// True for http and https with a host.
bool is_http_url(const std::string& url);

/// The absolute URL that `location` means in an answer of `base`; none when it
/// is no URL or has another scheme, host or port.
std::optional<std::string> same_origin_target(const std::string& base,
                                              const std::string& location);

} // namespace reeve
