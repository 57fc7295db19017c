// actors/gateway/access.cpp -- a loopback address is no protection against the
// web pages a user has open, hence the checks of Host and Origin.
#include "actors/gateway/access.hpp"

#include "actors/gateway/dashboard.hpp"
#include "actors/gateway/fields.hpp"
#include "net/problem.hpp"
#include "persistence/digest.hpp"

#include <algorithm>
#include <cctype>

namespace reeve {

namespace {

bool contains(const std::vector<std::string>& xs, std::string_view x) {
  return std::find(xs.begin(), xs.end(), x) != xs.end();
}

bool is_safe(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS";
}

bool is_known_host(const exchange& x, std::string_view host) {
  const auto& http = x.context().http;
  return host == "localhost" || host == http.address
    || host == '[' + http.address + ']'
    || (is_loopback(http.address) && (host == "127.0.0.1" || host == "[::1]"))
    || contains(http.allowed_hosts, host);
}

bool is_allowed_origin(const exchange& x, std::string_view origin) {
  return contains(x.context().http.allowed_origins, origin);
}

bool is_same_origin(const exchange& x, std::string_view origin) {
  auto host = x.request().header("host").value_or("");
  return origin == "http://" + std::string{host}
  || origin == "https://" + std::string{host};
}

void check_host(const exchange& x) {
  // With keys, a rebound name gains nothing: browsers do not add them.
  if (x.context().auth_mode != "off")
    return;
  auto host = host_of(x.request().header("host").value_or(""));
  if (!host.empty() && !is_known_host(x, host))
    throw bad_request(421, "wrong_host",
                      "This node does not serve the host '" + host
                        + "'; see http.allowed-hosts");
}

void check_origin(const exchange& x) {
  auto origin = x.request().header("origin");
  if (!origin || is_safe(x.request().method) || is_allowed_origin(x, *origin)
      || is_same_origin(x, *origin))
    return;
  throw bad_request(403, "foreign_origin",
                    "The origin is not in http.allowed-origins");
}

bool is_preflight(const exchange& x) {
  return x.request().method == "OPTIONS" && x.request().header("origin")
    && x.request().header("access-control-request-method");
}

void answer_preflight(exchange& x) {
  net::http_response response{204, {}, {}};
  if (is_allowed_origin(x, *x.request().header("origin"))) {
    response.headers.emplace_back("Access-Control-Allow-Methods",
                                  "GET, POST, DELETE");
    response.headers.emplace_back(
      "Access-Control-Allow-Headers",
      "Authorization, Content-Type, Idempotency-Key, If-None-Match, "
      "Last-Event-ID, traceparent, tracestate");
    response.headers.emplace_back("Access-Control-Max-Age", "600");
  }
  x.respond(std::move(response));
}

// Probes of load balancers carry no key, nor do tools that read how to call;
// and the dashboard's page has to be there to ask for one.
bool is_open_to_all(const exchange& x) {
  const auto& segments = x.request().segments;
  return is_dashboard_path(segments)
    || (segments.size() == 1
        && (segments[0] == "healthz" || segments[0] == "readyz"
            || segments[0] == "openapi.json"));
}

std::optional<std::string> bearer_token(const net::http_request& request) {
  constexpr std::string_view scheme = "bearer ";
  auto field = request.header("authorization").value_or("");
  if (field.size() <= scheme.size())
    return {};
  auto same = [](char a, char b) { return std::tolower(a) == b; };
  if (!std::equal(scheme.begin(), scheme.end(), field.begin(),
                  [&](char s, char f) { return same(f, s); }))
    return {};
  return std::string{field.substr(scheme.size())};
}

void refuse_key(exchange& x) {
  auto response = net::problem(401, "unauthorized",
                               "Send a valid key: Authorization: Bearer KEY");
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  x.respond(std::move(response));
}

} // namespace

std::string host_of(std::string_view authority) {
  auto end =
    authority.starts_with('[') ? authority.find(']') : std::string_view::npos;
  auto host = end != std::string_view::npos
    ? authority.substr(0, end + 1)
    : authority.substr(0, authority.find(':'));
  std::string result{host};
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return result;
}

void admit(exchange& x, handler next) {
  check_host(x);
  check_origin(x);
  if (is_preflight(x))
    return answer_preflight(x);
  if (x.context().auth_mode == "off" || is_open_to_all(x)) {
    x.set_caller({true, {}});
    return next(x);
  }
  auto token = bearer_token(x.request());
  if (!token)
    return refuse_key(x);
  // The store compares digests of keys with 256 random bits: the time it
  // takes tells nothing about a key.
  x.ask_or<api_key>(
    [next](exchange& x, api_key& key) {
      x.set_caller({key.role == "operator", key.user_id});
      next(x);
    },
    [](exchange& x, caf::error& err) {
      if (err == ec::not_found)
        refuse_key(x);
      else
        x.fail(err);
    },
    key_atom_v, sha256_hex(*token));
}

void add_cors(const exchange& x, net::http_response& response) {
  if (x.context().http.allowed_origins.empty())
    return;
  response.headers.emplace_back("Vary", "Origin");
  auto origin = x.request().header("origin");
  if (!origin || !is_allowed_origin(x, *origin))
    return;
  response.headers.emplace_back("Access-Control-Allow-Origin",
                                std::string{*origin});
  response.headers.emplace_back("Access-Control-Expose-Headers",
                                "ETag, Location, Retry-After");
}

} // namespace reeve
