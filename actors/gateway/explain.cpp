// actors/gateway/explain.cpp -- why a job does not run, without telling a
// client about other users' jobs.
#include "actors/gateway/fields.hpp"
#include "actors/gateway/json_values.hpp"
#include "actors/gateway/routes.hpp"

namespace reeve {

namespace {

void respond(exchange& x, const explanation& why) {
  ordered_json position = nullptr;
  if (why.ahead)
    position = *why.ahead + 1;
  x.respond(200,
            {{"job_id", why.job.id},
             {"status", to_string(why.job.status)},
             {"code", why.code},
             {"text", why.text},
             {"until", or_null(why.until)},
             {"blocking_job", or_null(why.blocking_job)},
             {"queue_position", std::move(position)}});
}

// Neither the field nor the text names the job in the way.
void hide_blocking_job(explanation& why) {
  const auto& id = *why.blocking_job;
  for (auto i = why.text.find(id); i != std::string::npos;
       i = why.text.find(id))
    why.text.replace(i, id.size(), "of another user");
  why.blocking_job.reset();
}

} // namespace

void get_explain(exchange& x) {
  x.allow_query({});
  x.ask<explanation>(
    [](exchange& x, explanation& why) {
      require_visible(x, why.job.user_id);
      if (x.who().is_operator || !why.blocking_job)
        return respond(x, why);
      auto blocking = *why.blocking_job;
      auto hidden = why;
      hide_blocking_job(hidden);
      x.ask_or<job>(
        [why, hidden](exchange& x, job& other) {
          respond(x, x.who().may_see(other.user_id) ? why : hidden);
        },
        [hidden](exchange& x, caf::error&) { respond(x, hidden); }, find_atom_v,
        blocking);
    },
    explain_query{x.parameter("id")});
}

} // namespace reeve
