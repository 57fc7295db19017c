// actors/gateway/openapi.hpp -- the API's own description.
#pragma once

#include "actors/gateway/exchange.hpp"

#include <string_view>

namespace reeve {

/// actors/gateway/openapi.json, an OpenAPI 3.1 document.
std::string_view openapi_text();

/// Answers with it; it needs no key.
void get_openapi(exchange& x);

} // namespace reeve
