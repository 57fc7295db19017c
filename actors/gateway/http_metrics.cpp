// actors/gateway/http_metrics.cpp -- found in the registry at the first request
// of each route.
#include "actors/gateway/http_metrics.hpp"

#include "actors/histograms.hpp"

#include <caf/actor_system.hpp>

#include <algorithm>
#include <string>

namespace reeve {

http_metrics::http_metrics(caf::actor_system& sys)
  : registry_(sys.metrics()),
    connections_(registry_.gauge_singleton("reeve.http", "connections",
                                           "Clients connected.")) {
  // nop
}

http_metrics::route_metrics& http_metrics::of(const net::route_name* route) {
  if (auto known = routes_.find(route); known != routes_.end())
    return known->second;
  const std::string method = route ? route->method : "other";
  const std::string pattern = route ? route->pattern : "none";
  route_metrics made{
    histogram(registry_, "reeve.http", "request_duration",
              {{"method", method}, {"route", pattern}},
              caf::make_span(short_buckets),
              "Time from a complete request to its response; of a stream, to "
              "its beginning."),
    {}};
  for (size_t i = 0; i < made.responses.size(); ++i)
    made.responses[i] = registry_.counter_instance(
      "reeve.http", "requests",
      {{"method", method},
       {"route", pattern},
       {"code", std::to_string(i + 1) + "xx"}},
      "Requests answered, by route and class of status.", "1", true);
  return routes_.emplace(route, made).first->second;
}

void http_metrics::responded(const net::route_name* route, int status,
                             caf::timespan took) {
  auto& known = of(route);
  known.responses[static_cast<size_t>(std::clamp(status / 100, 1, 5) - 1)]
    ->inc();
  known.seconds->observe(in_seconds(took));
}

void http_metrics::connections(int64_t change) {
  connections_->inc(change);
}

} // namespace reeve
