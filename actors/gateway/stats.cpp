// actors/gateway/stats.cpp -- the counts over time, and what the dashboard
// watches: counts, types and lanes, sent when they change.
#include "actors/gateway/json_values.hpp"
#include "actors/gateway/routes.hpp"
#include "actors/metrics.hpp"
#include "net/sse.hpp"

#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace reeve {

namespace {

/// A watcher hears of changes this often, at most.
constexpr auto watch_spacing = shared_question::spacing;

// -- history ------------------------------------------------------------------

using status_series = std::map<job_status, std::vector<int64_t>>;

ordered_json history_json(const stats_history& history) {
  auto at = ordered_json::array();
  auto oldest = ordered_json::array();
  std::map<std::string, status_series> series;
  const auto& samples = history.samples();
  for (size_t i = 0; i < samples.size(); ++i) {
    const auto& [when, what] = samples[i];
    at.push_back(to_rfc3339(when));
    oldest.push_back(what.oldest_due_age
                       ? ordered_json(what.oldest_due_age->count() / 1000.0)
                       : ordered_json(nullptr));
    for (const auto& entry : what.counts) {
      auto& values = series[entry.type][entry.status];
      values.resize(samples.size());
      values[i] = entry.count;
    }
  }
  auto types = ordered_json::object();
  for (const auto& [type, by_status] : series)
    for (const auto& [status, values] : by_status)
      types[type][std::string{to_string(status)}] = values;
  return {{"spacing_seconds", stats_history::spacing.count()},
          {"at", std::move(at)},
          {"oldest_due_seconds", std::move(oldest)},
          {"types", std::move(types)}};
}

// -- the stream ---------------------------------------------------------------

/// What one watcher was sent last.
struct stats_stream {
  int64_t stats = 0;
  int64_t types = 0;
  int64_t providers = 0;
};
using stats_stream_ptr = std::shared_ptr<stats_stream>;

void show(exchange& x, int64_t& sent, std::string_view event,
          const stats_feed::part& part) {
  if (!part.question.is_fresh() || part.newest.number == sent)
    return;
  sent = part.newest.number;
  x.stream(net::sse_event(event, "", part.newest.text));
}

/// Asks for a part when it is due and goes on with `next`, also when there is
/// no answer: a watcher keeps what it knows while e.g. the database is away.
template <class Result, class Take, class Query>
void refresh(exchange& x, stats_feed::part stats_feed::*which, Query query,
             Take take, std::function<void(exchange&)> next) {
  auto& question = (x.context().stats.get()->*which).question;
  auto ticket = question.try_ask(x.now());
  if (!ticket)
    return next(x);
  x.ask_or<Result>(
    [which, ticket, take, next](exchange& x, Result& found) {
      auto& feed = *x.context().stats;
      (feed.*which).question.answered(ticket, x.now());
      take(x, feed, found);
      next(x);
    },
    [which, ticket, next](exchange& x, caf::error& err) {
      // Only counting can keep the database busy for long.
      auto is_at_it =
        which == &stats_feed::stats && err == caf::sec::request_timeout;
      (x.context().stats.get()->*which)
        .question.failed(ticket, x.now(), is_at_it);
      next(x);
    },
    std::move(query));
}

// The number of changes stands for their content: a busy node changes more jobs
// than anybody could look at.
void stamp(exchange& x, stats_feed& feed) {
  feed.stamped_at = x.now();
  feed.counts["changes"] = job_changes(x.system());
  feed.stats.newest.set(dump(feed.counts));
}

void look(exchange& x, const stats_stream_ptr& stream);

void show_all(exchange& x, const stats_stream_ptr& stream) {
  auto& feed = *x.context().stats;
  // Counting may take long; lists of jobs have to be kept fresh all the same.
  if (feed.stats.question.is_fresh()
      && x.now() >= feed.stamped_at + watch_spacing)
    stamp(x, feed);
  show(x, stream->stats, "stats", feed.stats);
  show(x, stream->types, "types", feed.types);
  show(x, stream->providers, "providers", feed.providers);
  x.after(watch_spacing, [stream](exchange& x) { look(x, stream); });
}

void look_at_lanes(exchange& x, const stats_stream_ptr& stream) {
  refresh<lane_reports>(
    x, &stats_feed::providers, lanes_query{},
    [](exchange&, stats_feed& feed, const lane_reports& found) {
      feed.providers.newest.set(dump({{"providers", to_json(found)}}));
    },
    [stream](exchange& x) { show_all(x, stream); });
}

void look_at_types(exchange& x, const stats_stream_ptr& stream) {
  refresh<type_reports>(
    x, &stats_feed::types, types_query{},
    [](exchange&, stats_feed& feed, const type_reports& found) {
      feed.types.newest.set(dump({{"types", to_json(found)}}));
    },
    [stream](exchange& x) { look_at_lanes(x, stream); });
}

void look(exchange& x, const stats_stream_ptr& stream) {
  refresh<store_stats>(
    x, &stats_feed::stats, stats_atom_v,
    [](exchange& x, stats_feed& feed, const store_stats& found) {
      feed.counts = to_json(found);
      feed.counts["node"] = x.context().node_name;
      stamp(x, feed);
    },
    [stream](exchange& x) { look_at_types(x, stream); });
}

} // namespace

void get_stats_history(exchange& x) {
  x.allow_query({});
  require_operator(x);
  x.respond(200, history_json(*x.context().history));
}

void get_stats_events(exchange& x) {
  x.allow_query({});
  require_operator(x);
  begin_events(x);
  look(x, std::make_shared<stats_stream>());
}

} // namespace reeve
