// net/problem.hpp -- errors as RFC 9457 problem documents.
#pragma once

#include "net/http.hpp"

#include <string>
#include <string_view>

namespace reeve::net {

/// A response with `application/problem+json`: `type` is
/// `urn:reeve:problem:<code>`, `title` the reason phrase. `detail` says what
/// was wrong and what is allowed.
http_response problem(int status, std::string_view code, std::string detail);

} // namespace reeve::net
