// actors/gateway/stats.cpp -- the counts over time, and what the dashboard
// watches: counts, types and lanes, sent when they change.
#include "actors/gateway/json_values.hpp"
#include "actors/gateway/routes.hpp"
#include "net/sse.hpp"

#include <map>
#include <utility>

namespace reeve {

namespace {

using namespace std::chrono_literals;

/// A watcher hears of changes this often, at most.
constexpr auto watch_spacing = 1s;

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
  std::map<std::string_view, std::string> sent;
  /// The number of the newest change of a job. Its content is not sent: a busy
  /// node changes more jobs than anybody could look at.
  int64_t changes = 0;
};
using stats_stream_ptr = std::shared_ptr<stats_stream>;

void show(exchange& x, stats_stream& stream, std::string_view event,
          const ordered_json& body) {
  auto text = dump(body);
  auto& before = stream.sent[event];
  if (text == before)
    return;
  before = std::move(text);
  x.stream(net::sse_event(event, "", before));
}

void look(exchange& x, const stats_stream_ptr& stream);

void look_again(exchange& x, const stats_stream_ptr& stream) {
  x.after(watch_spacing, [stream](exchange& x) { look(x, stream); });
}

// The lanes are the node's own, the rest is the database's: while that is away
// a watcher keeps what it knows.
void look_at_lanes(exchange& x, const stats_stream_ptr& stream) {
  x.ask_or<lane_reports>(
    [stream](exchange& x, lane_reports& found) {
      show(x, *stream, "providers", {{"providers", to_json(found)}});
      look_again(x, stream);
    },
    [stream](exchange& x, caf::error&) { look_again(x, stream); },
    lanes_query{});
}

void look_at_types(exchange& x, const stats_stream_ptr& stream) {
  x.ask_or<type_reports>(
    [stream](exchange& x, type_reports& found) {
      show(x, *stream, "types", {{"types", to_json(found)}});
      look_at_lanes(x, stream);
    },
    [stream](exchange& x, caf::error&) { look_at_lanes(x, stream); },
    types_query{});
}

void look(exchange& x, const stats_stream_ptr& stream) {
  x.ask_or<store_stats>(
    [stream](exchange& x, store_stats& found) {
      auto body = to_json(found);
      body["node"] = x.context().node_name;
      body["changes"] = stream->changes;
      show(x, *stream, "stats", body);
      look_at_types(x, stream);
    },
    [stream](exchange& x, caf::error&) { look_at_types(x, stream); },
    stats_atom_v);
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
  auto* self = &x;
  auto stream = std::make_shared<stats_stream>();
  x.watch(
    {},
    [self, stream](watch_started& begun) {
      stream->changes = begun.newest;
      begin_events(*self);
      look(*self, stream);
    },
    [stream](const job_event& event) { stream->changes = event.number; });
}

} // namespace reeve
