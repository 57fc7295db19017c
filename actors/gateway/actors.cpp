// actors/gateway/actors.cpp -- the tree of actors, as it is, as it goes on, and
// what an operator may do about it.
#include "actors/gateway/fields.hpp"
#include "actors/gateway/routes.hpp"
#include "net/sse.hpp"

namespace reeve {

namespace {

ordered_json tree_json(const exchange& x, const tree_report& found) {
  return {{"node", x.context().node_name}, {"actors", to_json(found.actors)}};
}

} // namespace

void get_actors(exchange& x) {
  x.allow_query({});
  require_operator(x);
  x.ask<tree_report>(
    [](exchange& x, tree_report& found) {
      x.respond(200, tree_json(x, found));
    },
    tree_atom_v);
}

void post_restart(exchange& x) {
  require_operator(x);
  x.allow_query({});
  auto body = json_body_or_empty(x);
  fields in{body, "", {"reason"}};
  auto name = x.parameter("name");
  auto reason = in.optional_text("reason", longest_reason).value_or("");
  x.ask_or<actor_report>(
    [](exchange& x, actor_report& started) {
      x.respond(200, to_json(started));
    },
    [name](exchange& x, caf::error& err) {
      if (err != ec::not_found)
        return x.fail(err);
      x.fail(404, "not_found",
             "This node has no actor '" + name + "'; GET /api/actors has all");
    },
    restart_actor{name, std::move(reason)});
}

// -- the feed -----------------------------------------------------------------

namespace {

/// The number of the newest picture that a watcher has seen.
using shown_ptr = std::shared_ptr<int64_t>;

void look(exchange& x, const shown_ptr& shown);

void show(exchange& x, const shown_ptr& shown) {
  const auto& newest = *x.context().actors;
  if (newest.question.is_fresh() && newest.number > *shown) {
    *shown = newest.number;
    x.stream(
      net::sse_event("actors", std::to_string(newest.number), newest.text));
  }
  x.after(shared_question::spacing, [shown](exchange& x) { look(x, shown); });
}

// Many watchers cost the actors no more than one.
void look(exchange& x, const shown_ptr& shown) {
  auto ticket = x.context().actors->question.try_ask(x.now());
  if (!ticket)
    return show(x, shown);
  x.ask_or<tree_report>(
    [shown, ticket](exchange& x, tree_report& found) {
      auto& newest = *x.context().actors;
      newest.question.answered(ticket, x.now());
      newest.text = dump(tree_json(x, found));
      // Numbers of an earlier gateway are smaller, too.
      newest.number =
        std::max(newest.number + 1, wall_clock().time_since_epoch().count());
      show(x, shown);
    },
    [shown, ticket](exchange& x, caf::error&) {
      // Looking costs nothing: no reason to leave anybody alone.
      x.context().actors->question.failed(ticket, x.now(), false);
      show(x, shown);
    },
    tree_atom_v);
}

} // namespace

// Each event is the whole tree: a watcher that was away misses nothing that
// still holds, so there is nothing to replay.
void get_actor_events(exchange& x) {
  x.allow_query({});
  require_operator(x);
  begin_events(x);
  look(x, std::make_shared<int64_t>(0));
}

} // namespace reeve
