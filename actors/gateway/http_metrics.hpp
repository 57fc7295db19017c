// actors/gateway/http_metrics.hpp -- requests by route and class of status.
#pragma once

#include "net/router.hpp"

#include <caf/actor_clock.hpp>
#include <caf/fwd.hpp>
#include <caf/telemetry/counter.hpp>
#include <caf/telemetry/gauge.hpp>
#include <caf/telemetry/histogram.hpp>

#include <array>
#include <cstdint>
#include <map>

namespace reeve {

/// Shared by all connections of a gateway, which run in one thread. Labels are
/// the patterns of routes, never what a client sent.
class http_metrics {
public:
  explicit http_metrics(caf::actor_system& sys);

  /// `route` is null for what no route serves.
  void responded(const net::route_name* route, int status, caf::timespan took);
  void connections(int64_t change);

private:
  struct route_metrics {
    caf::telemetry::dbl_histogram* seconds;
    /// From 1xx to 5xx.
    std::array<caf::telemetry::int_counter*, 5> responses;
  };

  route_metrics& of(const net::route_name* route);

  caf::telemetry::metric_registry& registry_;
  std::map<const net::route_name*, route_metrics> routes_;
  caf::telemetry::int_gauge* connections_;
};

} // namespace reeve
