// tests/unit/net/problem.test.cpp
#define CAF_SUITE net.problem

#include "net/problem.hpp"
#include "net/json.hpp"

#include <caf/test/dsl.hpp>

using namespace reeve::net;

CAF_TEST(a problem has the members of RFC 9457) {
  auto x = problem(404, "not_found", "there is no job \"x\"\r\n");
  CAF_CHECK_EQUAL(x.status, 404);
  CAF_REQUIRE_EQUAL(x.headers.size(), 1u);
  CAF_CHECK_EQUAL(x.headers[0].first, "Content-Type");
  CAF_CHECK_EQUAL(x.headers[0].second, "application/problem+json");
  auto body = parse_json(x.body);
  CAF_CHECK_EQUAL(body.size(), 4u);
  CAF_CHECK(body["type"] == "urn:reeve:problem:not_found");
  CAF_CHECK(body["title"] == "Not Found");
  CAF_CHECK(body["status"] == 404);
  CAF_CHECK(body["detail"] == "there is no job \"x\"\r\n");
}

CAF_TEST(invalid text in the detail does not break the document) {
  auto body = parse_json(problem(400, "bad_request", "a\xff z").body);
  CAF_CHECK(body["detail"] == "a\xef\xbf\xbd z");
}

CAF_TEST(every status we use has a phrase) {
  for (auto status :
       {200, 202, 204, 304, 400, 401, 402, 403, 404, 405, 408, 409,
        413, 414, 415, 417, 421, 422, 429, 431, 500, 501, 503, 505})
    CAF_CHECK(reason_phrase(status) != "Unknown");
  CAF_CHECK(reason_phrase(299) == "Unknown");
}
