// net/router.hpp -- which handler serves a method and a path. Pure.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace reeve::net {

/// What stood at the `{name}` places of a pattern.
using path_parameters = std::map<std::string, std::string, std::less<>>;

/// What a route is called; it lives as long as its router.
struct route_name {
  std::string method;
  /// Like `/api/jobs/{id}/events`.
  std::string pattern;
};

template <class Handler>
class router {
public:
  struct found {
    const Handler* handler;
    const route_name* name;
    path_parameters parameters;
  };

  /// The path exists, not with this method (405, `Allow`).
  struct wrong_method {
    std::vector<std::string> allowed;
  };

  struct not_found {};

  using match_result = std::variant<found, wrong_method, not_found>;

  struct route : route_name {
    std::vector<std::string> segments;
    Handler handler;
  };

  /// `pattern` like `/api/jobs/{id}/events`. A literal segment wins over a
  /// parameter. GET also serves HEAD.
  router& add(std::string method, std::string pattern, Handler handler);

  match_result match(std::string_view method,
                     const std::vector<std::string>& segments) const;

  /// In the order they were added, for OpenAPI and the authorization tests.
  const std::vector<route>& routes() const noexcept {
    return routes_;
  }

private:
  std::vector<route> routes_;
};

// -- implementation -----------------------------------------------------------

namespace detail {

std::vector<std::string> split_pattern(std::string_view pattern);

/// How well a pattern fits: -1 not at all, else the number of literals.
int fit(const std::vector<std::string>& pattern,
        const std::vector<std::string>& segments);

/// What stands at the places of a pattern that fits.
path_parameters parameters_of(const std::vector<std::string>& pattern,
                              const std::vector<std::string>& segments);

} // namespace detail

template <class Handler>
router<Handler>& router<Handler>::add(std::string method, std::string pattern,
                                      Handler handler) {
  auto segments = detail::split_pattern(pattern);
  routes_.push_back({{std::move(method), std::move(pattern)},
                     std::move(segments),
                     std::move(handler)});
  return *this;
}

template <class Handler>
typename router<Handler>::match_result router<Handler>::match(
  std::string_view method, const std::vector<std::string>& segments) const {
  auto wanted = method == "HEAD" ? std::string_view{"GET"} : method;
  int best = -1;
  const route* chosen = nullptr;
  std::vector<std::string> allowed;
  for (const auto& candidate : routes_) {
    auto score = detail::fit(candidate.segments, segments);
    if (score < 0)
      continue;
    if (candidate.method != wanted) {
      allowed.push_back(candidate.method);
      if (candidate.method == "GET")
        allowed.push_back("HEAD");
    } else if (score > best) {
      best = score;
      chosen = &candidate;
    }
  }
  if (chosen != nullptr)
    return found{&chosen->handler, chosen,
                 detail::parameters_of(chosen->segments, segments)};
  if (allowed.empty())
    return not_found{};
  allowed.push_back("OPTIONS");
  std::sort(allowed.begin(), allowed.end());
  allowed.erase(std::unique(allowed.begin(), allowed.end()), allowed.end());
  return wrong_method{std::move(allowed)};
}

} // namespace reeve::net
