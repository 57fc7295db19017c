// actors/gateway/events.cpp -- server-sent events and long polls: subscribe
// first, then read, so that nothing falls between.
#include "actors/gateway/fields.hpp"
#include "actors/gateway/routes.hpp"
#include "net/sse.hpp"

#include <algorithm>

namespace reeve {

namespace {

using namespace std::chrono_literals;

/// All watchers together look at the store this often, at most.
constexpr auto look_spacing = 2ms;

/// One of those who look at the store for changes that other nodes make. What
/// this node changes is announced, so who has just heard of a change need not.
class looker {
public:
  explicit looker(const gateway_context& context) : count_(context.lookers) {
    // nop
  }

  void heard() {
    heard_ = true;
  }

  bool is_due() {
    return !std::exchange(heard_, false);
  }

  caf::timespan delay(const gateway_context& context) const {
    return std::max<caf::timespan>(context.watch_poll,
                                   look_spacing * count_.use_count());
  }

private:
  std::shared_ptr<const void> count_;
  bool heard_ = false;
};

/// What one stream has shown so far.
struct job_stream {
  explicit job_stream(const gateway_context& context) : look(context) {
    // nop
  }

  std::string id;
  looker look;
  int64_t shown = 0;
  bool started = false;
  /// Events that came between the subscription and the first read.
  std::vector<job_event> early;
};

net::http_response stream_head() {
  return {200,
          {{"Content-Type", "text/event-stream"},
           {"Cache-Control", "no-store"},
           // Proxies such as nginx would hold events back.
           {"X-Accel-Buffering", "no"}},
          {}};
}

void keep_alive(exchange& x) {
  x.after(x.context().keep_alive, [](exchange& x) {
    x.stream(net::sse_keep_alive());
    keep_alive(x);
  });
}

} // namespace

void begin_events(exchange& x) {
  x.begin_stream(stream_head());
  keep_alive(x);
}

namespace {

std::optional<int64_t> last_event_id(const exchange& x) {
  auto field = x.request().header("last-event-id");
  if (!field || field->empty())
    return {};
  return parse_integer("Last-Event-ID", *field, 0, INT64_MAX);
}

// -- one job ------------------------------------------------------------------

// A subscription outlives the request it was made for until the connection
// makes another: events of that other job may still arrive, hence the checks of
// ids below.

// Versions only grow; the last one ends the stream.
void show(exchange& x, job_stream& stream, const job_ptr& what) {
  if (what->version <= stream.shown)
    return;
  stream.shown = what->version;
  x.stream(net::sse_event("job", std::to_string(what->version),
                          *x.context().texts->of(what)));
  if (is_final(what->status))
    x.end_stream();
}

void poll(exchange& x, std::shared_ptr<job_stream> stream) {
  if (!x.context().shared_store)
    return;
  x.after(stream->look.delay(x.context()), [stream](exchange& x) {
    if (!stream->look.is_due())
      return poll(x, stream);
    x.ask_or<job>(
      [stream](exchange& x, job& now) {
        show(x, *stream, std::make_shared<const job>(std::move(now)));
        poll(x, stream);
      },
      [stream](exchange& x, caf::error&) { poll(x, stream); }, find_atom_v,
      stream->id);
  });
}

void open_job_stream(exchange& x, std::shared_ptr<job_stream> stream,
                     const std::vector<job_event>& replay, const job_ptr& now) {
  require_visible(x, now->user_id);
  begin_events(x);
  stream->started = true;
  // A large job's history is left out rather than cutting its reader off.
  auto bytes = x.context().texts->of(now)->size() * replay.size();
  if (bytes <= x.context().http.max_unsent_bytes)
    for (const auto& event : replay)
      show(x, *stream, event.what);
  show(x, *stream, now);
  for (const auto& event : std::exchange(stream->early, {}))
    show(x, *stream, event.what);
  poll(x, stream);
}

} // namespace

void get_job_events(exchange& x) {
  x.allow_query({});
  auto stream = std::make_shared<job_stream>(x.context());
  stream->id = x.parameter("id");
  watch_filter filter;
  filter.job_id = stream->id;
  filter.last_seen = last_event_id(x);
  stream->shown = filter.last_seen.value_or(0);
  auto* self = &x;
  x.watch(
    std::move(filter),
    [self, stream](watch_started& begun) {
      self->ask<job>(
        [stream, replay = std::move(begun.replay)](exchange& x, job& now) {
          // A version from the future is no version of this job: start anew.
          if (stream->shown > now.version)
            stream->shown = 0;
          // All is said. Of all answers, only this one keeps an EventSource
          // from coming back for more.
          if (stream->shown == now.version && is_final(now.status)) {
            require_visible(x, now.user_id);
            return x.respond(net::http_response{204, {}, {}});
          }
          open_job_stream(x, stream, replay,
                          std::make_shared<const job>(std::move(now)));
        },
        find_atom_v, stream->id);
    },
    [self, stream](const job_event& event) {
      if (event.what->id != stream->id)
        return;
      stream->look.heard();
      if (stream->started)
        show(*self, *stream, event.what);
      else
        stream->early.push_back(event);
    });
}

// -- the shared feed ----------------------------------------------------------

namespace {

std::string rendered(const exchange& x, const job_event& event) {
  return net::sse_event("job", std::to_string(event.number),
                        *x.context().texts->of(event.what));
}

void open_feed(exchange& x, watch_started& begun) {
  begin_events(x);
  std::string replay;
  for (const auto& event : begun.replay)
    if (replay.size() <= x.context().http.max_unsent_bytes)
      replay += rendered(x, event);
  // More than a reader may lag behind cannot be replayed either.
  if (begun.gap || replay.size() > x.context().http.max_unsent_bytes)
    replay = net::sse_event("reset", std::to_string(begun.newest), "{}");
  x.stream(replay.empty() ? net::sse_keep_alive() : replay);
}

} // namespace

void get_events(exchange& x) {
  x.allow_query({"type", "user_id"});
  watch_filter filter;
  filter.type = x.query("type");
  filter.user_id = x.query("user_id");
  if (!x.who().is_operator)
    filter.user_id = x.who().user_id;
  filter.last_seen = last_event_id(x);
  auto* self = &x;
  auto open = std::make_shared<bool>(false);
  x.watch(
    std::move(filter),
    [self, open](watch_started& begun) {
      *open = true;
      open_feed(*self, begun);
    },
    [self, open](const job_event& event) {
      // The answer to the subscription and the events come from one actor,
      // hence in order: nothing can arrive before the stream is open.
      if (*open)
        self->stream(rendered(*self, event));
    });
}

// -- long polls ---------------------------------------------------------------

namespace {

struct long_poll {
  job newest;
  int64_t known = 0;
  looker look;
};

void settle(exchange& x, long_poll& poll, const job& now) {
  if (now.version > poll.newest.version)
    poll.newest = now;
  if (poll.newest.version > poll.known)
    x.respond(job_response(200, poll.newest));
}

void look_again(exchange& x, std::shared_ptr<long_poll> poll) {
  if (!x.context().shared_store)
    return;
  x.after(poll->look.delay(x.context()), [poll](exchange& x) {
    if (!poll->look.is_due())
      return look_again(x, poll);
    x.ask_or<job>(
      [poll](exchange& x, job& now) {
        settle(x, *poll, now);
        look_again(x, poll);
      },
      [poll](exchange& x, caf::error&) { look_again(x, poll); }, find_atom_v,
      poll->newest.id);
  });
}

} // namespace

void wait_for_job(exchange& x, job current, int64_t known,
                  std::chrono::seconds wait) {
  auto poll = std::make_shared<long_poll>(
    long_poll{std::move(current), known, looker{x.context()}});
  auto* self = &x;
  watch_filter filter;
  filter.job_id = poll->newest.id;
  x.watch(
    std::move(filter),
    [self, poll](watch_started&) {
      // It may have changed between the first read and the subscription.
      self->ask<job>([poll](exchange& x, job& now) { settle(x, *poll, now); },
                     find_atom_v, poll->newest.id);
    },
    [self, poll](const job_event& event) {
      if (event.what->id == poll->newest.id)
        settle(*self, *poll, *event.what);
    });
  x.when_draining(
    [self, poll] { self->respond(job_response(200, poll->newest)); });
  x.after(wait, [poll](exchange& x) {
    auto response = job_response(200, poll->newest);
    if (x.request().header("if-none-match"))
      response = {304, {response.headers[1]}, {}};
    x.respond(std::move(response));
  });
  look_again(x, poll);
}

} // namespace reeve
