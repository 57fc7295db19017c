// actors/gateway/routes.hpp -- the API's table of contents.
#pragma once

#include "actors/gateway/exchange.hpp"

namespace reeve {

/// Longest texts in requests, in bytes. They stand in indexes.
inline constexpr size_t longest_user = 200;
inline constexpr size_t longest_title = 500;

/// Longest reason that an operator gives for what it does.
inline constexpr size_t longest_reason = 500;

/// Who pays for what nobody in particular asked for, e.g. without keys.
inline constexpr std::string_view local_user = "local";

/// All routes, in the order of the documentation.
const net::router<handler>& api_routes();

/// Finds the route and runs its handler; answers 404, 405 and OPTIONS itself.
void dispatch(exchange& x);

// -- jobs.cpp -----------------------------------------------------------------

void post_job(exchange& x);
void post_jobs_batch(exchange& x);
void get_job(exchange& x);
void get_jobs(exchange& x);
void get_attempts(exchange& x);
void get_steps(exchange& x);
void get_explain(exchange& x);
void post_cancel(exchange& x);
void post_retry(exchange& x);

// -- failures.cpp -------------------------------------------------------------

void get_errors(exchange& x);
void post_bulk_retry(exchange& x);

// -- types.cpp ----------------------------------------------------------------

void get_types(exchange& x);
void post_pause(exchange& x);
void post_resume(exchange& x);
void get_providers(exchange& x);
void post_resume_provider(exchange& x);

// -- scraps.cpp ---------------------------------------------------------------

void post_scrap(exchange& x);
void get_scrap(exchange& x);
void delete_scrap(exchange& x);
void get_card(exchange& x);
void get_cards(exchange& x);
void get_recall(exchange& x);

// -- summaries.cpp ------------------------------------------------------------

void post_summary(exchange& x);
void get_summary(exchange& x);
void post_til(exchange& x);
void post_recall(exchange& x);

// -- books.cpp ----------------------------------------------------------------

void post_generate(exchange& x);
void get_content(exchange& x);
void get_contents(exchange& x);
void get_image(exchange& x);
void post_image(exchange& x);

// -- accounts.cpp -------------------------------------------------------------

void get_account(exchange& x);
void get_usage(exchange& x);

// -- events.cpp ---------------------------------------------------------------

void get_job_events(exchange& x);
void get_events(exchange& x);

/// Answers with the job once its version is not `known` any more, or it is
/// final, or `wait` has passed.
void wait_for_job(exchange& x, job current, int64_t known,
                  std::chrono::seconds wait);

// -- stats.cpp ----------------------------------------------------------------

void get_stats_history(exchange& x);
void get_stats_events(exchange& x);

// -- operations.cpp -----------------------------------------------------------

void get_health(exchange& x);
void get_readiness(exchange& x);
void get_metrics(exchange& x);
void get_stats(exchange& x);

// -- actors.cpp ---------------------------------------------------------------

void get_actors(exchange& x);
void get_actor_events(exchange& x);
void post_restart(exchange& x);

// -- shared by handlers -------------------------------------------------------

/// Of the unique keys that the node makes up itself; clients cannot take one.
inline constexpr std::string_view own_key_prefix = "reeve:";

/// The body as JSON. Throws `bad_request` (400, 415).
nlohmann::json json_body(const exchange& x);

/// As `json_body`; an empty object when there is no body.
nlohmann::json json_body_or_empty(const exchange& x);

/// A weak comparison (RFC 9110, section 13.1.2): is `etag` one of those that
/// an If-None-Match field lists?
bool matches(std::string_view field, const std::string& etag);

/// The job as a response with its ETag.
net::http_response job_response(int status, const job& x);

/// Reads the fields of a job from a client and takes the payload out of the
/// body. Throws `bad_request`.
enqueue_write enqueue_from(const exchange& x, nlohmann::json& body,
                           const std::string& where);

/// Whose a new thing is: what was asked for an operator, else the caller's
/// user. Throws a 403 when a client asks for another one.
std::optional<std::string> owner_of(const exchange& x,
                                    std::optional<std::string> asked);

/// Notes the Idempotency-Key with the request's digest, and the trace, as far
/// as the request has them.
void take_header_fields(const exchange& x, enqueue_write& what);

/// Says so when the answer is that of an earlier request with the same key.
void note_replay(const enqueued& added, net::http_response& response);

/// Begins a stream of server-sent events, and keeps it alive.
void begin_events(exchange& x);

/// `limit`, or how many a page has that asked for no number. Throws
/// `bad_request`.
uint32_t page_limit(const exchange& x);

/// `cursor` of a list that is paged by ids. Throws `bad_request`.
std::optional<std::string> id_cursor(const exchange& x);

/// Cuts what was found, one more than `limit` if there is more, to a page;
/// the cursor of the next one, or null.
template <class List>
ordered_json cut_page(List& found, uint32_t limit) {
  if (found.size() <= limit)
    return nullptr;
  found.resize(limit);
  return found.back().id;
}

/// Throws a 403 unless the caller may do it.
void require_operator(const exchange& x);

/// Throws a 404 for what the caller may not see, as if it were not there.
void require_visible(const exchange& x,
                     const std::optional<std::string>& owner);

} // namespace reeve
