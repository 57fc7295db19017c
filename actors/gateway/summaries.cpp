// actors/gateway/summaries.cpp -- a day of cards, and what is made of it.
#include "actors/gateway/days.hpp"
#include "actors/gateway/fields.hpp"
#include "actors/gateway/routes.hpp"
#include "persistence/uuid.hpp"

namespace reeve {

namespace {

constexpr size_t longest_date = 10;
constexpr size_t longest_zone = 64;

// Also by date, among the caller's own; an operator names a user.
summary_query summary_named(const exchange& x) {
  summary_query result;
  result.id_or_date = x.parameter("id");
  result.user_id = owner_of(x, x.query("user_id"));
  return result;
}

// A second click while one is unfinished gives the same job.
void enqueue_for(exchange& x, const summary_view& found, std::string type) {
  require_visible(x, found.what.user_id);
  auto known = x.context().types.find(type);
  if (known == x.context().types.end())
    throw bad_request(404, "not_found", "This node has no type " + type);
  enqueue_write what;
  what.id = make_uuid();
  what.unique_key = std::string{own_key_prefix} + type + ':' + found.what.id;
  what.type = std::move(type);
  what.target_id = found.what.id;
  what.user_id = found.what.user_id;
  what.max_attempts = known->second.max_attempts;
  take_header_fields(x, what);
  x.ask<enqueued>(
    [](exchange& x, enqueued& added) {
      require_visible(x, added.job.user_id);
      auto response = json_response(202, {{"job_id", added.job.id}});
      response.headers.emplace_back("Location", "/api/jobs/" + added.job.id);
      note_replay(added, response);
      x.respond(std::move(response));
    },
    std::move(what));
}

void post_job_for(exchange& x, std::string type) {
  x.allow_query({"user_id"});
  auto body = json_body_or_empty(x);
  fields{body, "", {}};
  x.ask<summary_view>(
    [type = std::move(type)](exchange& x, summary_view& found) {
      enqueue_for(x, found, type);
    },
    summary_named(x));
}

} // namespace

void post_summary(exchange& x) {
  x.allow_query({});
  auto body = json_body(x);
  fields in{body, "", {"date", "time_zone", "user_id"}};
  summary_write made;
  made.what.id = make_uuid();
  made.what.date = in.text("date", longest_date);
  made.what.user_id = owner_of(x, in.optional_text("user_id", longest_user));
  made.what.time_zone =
    in.optional_text("time_zone", longest_zone).value_or(x.context().time_zone);
  auto date = parse_date(made.what.date);
  if (!date)
    throw bad_request("/date must be a day of the years 1900 to 9998 like "
                      "2026-03-01");
  if (!is_time_zone(made.what.time_zone))
    throw bad_request("/time_zone must be an IANA name like Asia/Seoul");
  auto span = span_of(*date, made.what.time_zone);
  if (!span)
    throw bad_request("/date " + made.what.date + " does not exist in "
                      + made.what.time_zone);
  made.what.day_start = span->start;
  made.what.day_end = span->end;
  x.ask<stored_summary>(
    [](exchange& x, stored_summary& found) {
      auto response = json_response(found.created ? 201 : 200,
                                    {{"daily_summary_id", found.what.id}});
      response.headers.emplace_back("Location",
                                    "/api/daily-summaries/" + found.what.id);
      x.respond(std::move(response));
    },
    std::move(made));
}

void get_summary(exchange& x) {
  x.allow_query({"user_id"});
  x.ask<summary_view>(
    [](exchange& x, summary_view& found) {
      require_visible(x, found.what.user_id);
      x.respond(200, to_json(found));
    },
    summary_named(x));
}

void post_til(exchange& x) {
  post_job_for(x, "TIL_GENERATION");
}

void post_recall(exchange& x) {
  post_job_for(x, "RECALL_GENERATION");
}

} // namespace reeve
