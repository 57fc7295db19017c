// net/sse.hpp -- server-sent events (WHATWG HTML, section 9.2).
#pragma once

#include <string>
#include <string_view>

namespace reeve::net {

/// One event as bytes. `data` may have any line ends: each line gets its own
/// `data:` field, so that no text can forge a field.
std::string sse_event(std::string_view event, std::string_view id,
                      std::string_view data);

/// A comment that keeps proxies from closing an idle stream.
std::string_view sse_keep_alive();

/// Tells the client how long to wait before it connects again.
std::string sse_retry(unsigned milliseconds);

} // namespace reeve::net
