// actors/gateway/operations.cpp -- what operators and their tools look at.
#include "actors/gateway/routes.hpp"
#include "actors/node_metrics.hpp"

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

namespace {

/// Prometheus waits for ten seconds. A database that takes longer than this is
/// as good as away.
constexpr auto scrape_patience = std::chrono::seconds{5};

using figures_ptr = std::shared_ptr<scraped_figures>;

void respond_with(exchange& x, const scraped_figures& figures) {
  x.respond(net::http_response{
    200,
    {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
    prometheus_text(x.system(), figures)});
}

void ask_for_counts(exchange& x, const figures_ptr& figures) {
  x.after(scrape_patience,
          [figures](exchange& x) { respond_with(x, *figures); });
  x.ask_or<store_stats>(
    [figures](exchange& x, store_stats& found) {
      figures->stats = std::move(found);
      respond_with(x, *figures);
    },
    [figures](exchange& x, caf::error&) { respond_with(x, *figures); },
    stats_atom_v);
}

void ask_for_lanes(exchange& x, const figures_ptr& figures) {
  x.ask_or<lane_reports>(
    [figures](exchange& x, lane_reports& found) {
      figures->lanes = std::move(found);
      ask_for_counts(x, figures);
    },
    [figures](exchange& x, caf::error&) { ask_for_counts(x, figures); },
    lanes_query{});
}

} // namespace

// Whatever is not answered is left out: the rest is of use without it.
void get_metrics(exchange& x) {
  require_operator(x);
  auto figures = std::make_shared<scraped_figures>();
  for (const auto& [type, options] : x.context().types)
    figures->known_types.insert(type);
  x.ask_or<tree_report>(
    [figures](exchange& x, tree_report& found) {
      figures->tree = std::move(found);
      ask_for_lanes(x, figures);
    },
    [figures](exchange& x, caf::error&) { ask_for_lanes(x, figures); },
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
