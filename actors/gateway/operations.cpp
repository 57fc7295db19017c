// actors/gateway/operations.cpp -- what operators and their tools look at.
#include "actors/gateway/routes.hpp"
#include "actors/metrics.hpp"

namespace reeve {

void get_health(exchange& x) {
  x.allow_query({});
  x.respond(200, {{"status", "ok"}});
}

void get_readiness(exchange& x) {
  x.allow_query({});
  x.ask<void>(
    [](exchange& x) {
      x.respond(200, {{"status", "ready"}});
    },
    ready_atom_v);
}

void get_metrics(exchange& x) {
  require_operator(x);
  x.respond(net::http_response{
    200,
    {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
    prometheus_text(x.system())});
}

void get_actors(exchange& x) {
  x.allow_query({});
  require_operator(x);
  x.ask<tree_report>(
    [](exchange& x, tree_report& found) {
      x.respond(
        200,
        {{"node", x.context().node_name}, {"actors", to_json(found.actors)}});
    },
    tree_atom_v);
}

void get_stats(exchange& x) {
  x.allow_query({});
  require_operator(x);
  x.ask<store_stats>(
    [](exchange& x, store_stats& found) { x.respond(200, to_json(found)); },
    stats_atom_v);
}

} // namespace reeve
