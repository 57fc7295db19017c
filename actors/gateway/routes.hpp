// actors/gateway/routes.hpp -- the API's table of contents.
#pragma once

#include "actors/gateway/exchange.hpp"

namespace reeve {

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
void post_cancel(exchange& x);
void post_retry(exchange& x);

// -- scraps.cpp ---------------------------------------------------------------

void post_scrap(exchange& x);
void get_scrap(exchange& x);
void delete_scrap(exchange& x);
void get_card(exchange& x);
void get_cards(exchange& x);

// -- events.cpp ---------------------------------------------------------------

void get_job_events(exchange& x);
void get_events(exchange& x);

/// Answers with the job once its version is not `known` any more, or it is
/// final, or `wait` has passed.
void wait_for_job(exchange& x, job current, int64_t known,
                  std::chrono::seconds wait);

// -- operations.cpp -----------------------------------------------------------

void get_health(exchange& x);
void get_readiness(exchange& x);
void get_metrics(exchange& x);
void get_actors(exchange& x);
void get_stats(exchange& x);

// -- shared by handlers -------------------------------------------------------

/// The body as JSON. Throws `bad_request` (400, 415).
nlohmann::json json_body(const exchange& x);

/// The job as a response with its ETag.
net::http_response job_response(int status, const job& x);

/// Reads the fields of a job from a client. Throws `bad_request`.
enqueue_write enqueue_from(const exchange& x, const nlohmann::json& body,
                           const std::string& where);

/// Notes the Idempotency-Key, if there is one, and the request's digest. A
/// request that makes several jobs gives each a `part` of its own.
void take_idempotency_key(const exchange& x, enqueue_write& what,
                          std::string_view part = {});

/// Throws a 403 unless the caller may do it.
void require_operator(const exchange& x);

/// Throws a 404 for what the caller may not see, as if it were not there.
void require_visible(const exchange& x,
                     const std::optional<std::string>& owner);

} // namespace reeve
