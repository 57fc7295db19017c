// tests/unit/actors/gateway_openapi.test.cpp -- the document names the routes
// that are there, and no others. What they answer is e2e/openapi.py's.
#define CAF_SUITE actors.gateway_openapi

#include "actors/gateway/openapi.hpp"
#include "actors/gateway/routes.hpp"

#include <caf/test/bdd_dsl.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

using namespace reeve;

namespace {

using names = std::set<std::string>;

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return text;
}

names documented() {
  names result;
  auto document = nlohmann::json::parse(openapi_text());
  for (const auto& [path, operations] : document.at("paths").items())
    for (const auto& [method, operation] : operations.items())
      result.insert(upper_case(method) + ' ' + path);
  return result;
}

names served() {
  names result;
  for (const auto& route : api_routes().routes())
    result.insert(route.method + ' ' + route.pattern);
  return result;
}

names without(names xs, const names& ys) {
  for (const auto& y : ys)
    xs.erase(y);
  return xs;
}

} // namespace

SCENARIO("OpenAPI names every route") {
  CHECK_EQ(without(served(), documented()), names{});
}

SCENARIO("OpenAPI names no route that is not there") {
  CHECK_EQ(without(documented(), served()), names{});
}
