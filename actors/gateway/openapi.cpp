// actors/gateway/openapi.cpp -- serves the API's own description.
#include "actors/gateway/openapi.hpp"

#include "actors/gateway/routes.hpp"
#include "persistence/digest.hpp"

namespace reeve {

void get_openapi(exchange& x) {
  x.allow_query({});
  static const auto etag = '"' + sha256_hex(openapi_text()) + '"';
  net::http_response response{
    200, {{"ETag", etag}, {"Cache-Control", "no-cache"}}, {}};
  auto known = x.request().header("if-none-match");
  if (known && matches(*known, etag)) {
    response.status = 304;
  } else {
    response.headers.emplace_back("Content-Type", "application/json");
    response.body = openapi_text();
  }
  x.respond(std::move(response));
}

} // namespace reeve
