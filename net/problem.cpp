// net/problem.cpp -- errors as RFC 9457 problem documents.
#include "net/problem.hpp"

#include "net/json.hpp"

#include <utility>

namespace reeve::net {

http_response problem(int status, std::string_view code, std::string detail) {
  http_response result;
  result.status = status;
  result.headers.emplace_back("Content-Type", "application/problem+json");
  result.body = dump_json({{"type", "urn:reeve:problem:" + std::string{code}},
                           {"title", reason_phrase(status)},
                           {"status", status},
                           {"detail", std::move(detail)}});
  return result;
}

} // namespace reeve::net
