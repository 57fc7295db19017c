// actors/gateway/types.cpp -- what runs here, whom it calls, and how people
// stop it.
#include "actors/gateway/fields.hpp"
#include "actors/gateway/json_values.hpp"
#include "actors/gateway/routes.hpp"

namespace reeve {

namespace {

void pause_or_resume(exchange& x, pause_write what) {
  if (x.context().types.count(what.type) == 0)
    throw bad_request(404, "not_found",
                      "'" + what.type + "' is no job type of this node");
  ordered_json answer{{"type", what.type},
                      {"paused", what.paused},
                      {"reason", empty_as_null(what.reason)}};
  x.ask<done>([answer](exchange& x, done&) { x.respond(200, answer); },
              std::move(what));
}

} // namespace

void get_types(exchange& x) {
  require_operator(x);
  x.allow_query({});
  x.ask<type_reports>(
    [](exchange& x, type_reports& found) {
      x.respond(200, {{"types", to_json(found)}});
    },
    types_query{});
}

void post_pause(exchange& x) {
  require_operator(x);
  x.allow_query({});
  auto body = json_body_or_empty(x);
  fields in{body, "", {"reason"}};
  pause_or_resume(x,
                  {x.parameter("type"), true,
                   in.optional_text("reason", longest_reason).value_or("")});
}

void post_resume(exchange& x) {
  require_operator(x);
  x.allow_query({});
  auto body = json_body_or_empty(x);
  fields{body, "", {}};
  pause_or_resume(x, {x.parameter("type"), false, ""});
}

void get_providers(exchange& x) {
  require_operator(x);
  x.allow_query({});
  x.ask<lane_reports>(
    [](exchange& x, lane_reports& found) {
      x.respond(200, {{"providers", to_json(found)}});
    },
    lanes_query{});
}

void post_resume_provider(exchange& x) {
  require_operator(x);
  x.allow_query({});
  auto body = json_body_or_empty(x);
  fields{body, "", {}};
  auto name = x.parameter("name");
  x.ask<done>(
    [name](exchange& x, done&) {
      x.respond(200, {{"name", name}, {"resumed", true}});
    },
    resume_lane{name});
}

} // namespace reeve
