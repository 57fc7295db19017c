// tests/unit/net/router.test.cpp
#define CAF_SUITE net.router

#include "net/router.hpp"

#include <caf/test/dsl.hpp>

using namespace reeve::net;

namespace {

using router_type = router<int>;

router_type make_router() {
  router_type result;
  result.add("GET", "/", 1)
    .add("GET", "/api/jobs", 2)
    .add("POST", "/api/jobs", 3)
    .add("GET", "/api/jobs/{id}", 4)
    .add("POST", "/api/jobs/retry", 5)
    .add("GET", "/api/jobs/{id}/events", 6)
    .add("GET", "/api/contents/{id}/pages/{n}/image", 7)
    .add("GET", "/api/{kind}/special", 8)
    .add("GET", "/api/jobs/special", 9);
  return result;
}

// The handler, 405 or 404.
int serve(const char* method, std::vector<std::string> segments) {
  auto uut = make_router();
  auto result = uut.match(method, segments);
  if (auto* x = std::get_if<router_type::found>(&result))
    return *x->handler;
  return std::holds_alternative<router_type::wrong_method>(result) ? 405 : 404;
}

} // namespace

CAF_TEST(the table of matches) {
  CAF_CHECK_EQUAL(serve("GET", {}), 1);
  CAF_CHECK_EQUAL(serve("HEAD", {}), 1);
  CAF_CHECK_EQUAL(serve("GET", {"api", "jobs"}), 2);
  CAF_CHECK_EQUAL(serve("POST", {"api", "jobs"}), 3);
  CAF_CHECK_EQUAL(serve("GET", {"api", "jobs", "x"}), 4);
  CAF_CHECK_EQUAL(serve("POST", {"api", "jobs", "retry"}), 5);
  CAF_CHECK_EQUAL(serve("GET", {"api", "jobs", "retry"}), 4);
  CAF_CHECK_EQUAL(serve("GET", {"api", "jobs", "x", "events"}), 6);
  CAF_CHECK_EQUAL(serve("GET", {"api", "jobs", "special"}), 9);
  CAF_CHECK_EQUAL(serve("GET", {"api", "cards", "special"}), 8);
}

CAF_TEST(what matches no route) {
  CAF_CHECK_EQUAL(serve("GET", {"api"}), 404);
  CAF_CHECK_EQUAL(serve("GET", {"API", "jobs"}), 404);
  CAF_CHECK_EQUAL(serve("GET", {"api", "jobs", ""}), 404);
  CAF_CHECK_EQUAL(serve("GET", {"api", "jobs", "", "events"}), 404);
  CAF_CHECK_EQUAL(serve("GET", {"", "api", "jobs"}), 404);
  CAF_CHECK_EQUAL(serve("GET", {""}), 404);
  CAF_CHECK_EQUAL(serve("GET", {"api/jobs"}), 404);
  CAF_CHECK_EQUAL(serve("get", {"api", "jobs"}), 405);
  CAF_CHECK_EQUAL(serve("DELETE", {"api", "jobs"}), 405);
  CAF_CHECK_EQUAL(serve("POST", {"api", "jobs", "x"}), 405);
}

CAF_TEST(parameters carry the decoded segment) {
  auto uut = make_router();
  auto result =
    uut.match("GET", {"api", "contents", "a/b {id}", "pages", "7", "image"});
  auto* x = std::get_if<router_type::found>(&result);
  CAF_REQUIRE(x != nullptr);
  CAF_CHECK_EQUAL(x->parameters.size(), 2u);
  CAF_CHECK_EQUAL(x->parameters["id"], "a/b {id}");
  CAF_CHECK_EQUAL(x->parameters["n"], "7");
}

CAF_TEST(a wrong method lists the right ones) {
  auto uut = make_router();
  auto result = uut.match("PUT", {"api", "jobs"});
  auto* x = std::get_if<router_type::wrong_method>(&result);
  CAF_REQUIRE(x != nullptr);
  CAF_CHECK_EQUAL(x->allowed,
                  (std::vector<std::string>{"GET", "HEAD", "OPTIONS", "POST"}));
}

CAF_TEST(routes are listed in order) {
  auto uut = make_router();
  CAF_REQUIRE_EQUAL(uut.routes().size(), 9u);
  CAF_CHECK_EQUAL(uut.routes()[3].pattern, "/api/jobs/{id}");
}
