// actors/gateway/jobs.cpp -- /api/jobs: add, look, cancel, retry.
#include "actors/gateway/fields.hpp"
#include "actors/gateway/job_json.hpp"
#include "actors/gateway/routes.hpp"
#include "persistence/digest.hpp"
#include "persistence/uuid.hpp"

namespace reeve {

namespace {

constexpr size_t longest_target = 500;
constexpr size_t longest_key = 200;
constexpr size_t most_jobs_in_batch = 1'000;
constexpr int64_t most_attempts = 100;
constexpr int64_t priority_range = 1'000;

/// Of a job in an answer, in bytes.
constexpr size_t usual_size = 1'024;

std::string etag_of(const job& x) {
  return '"' + std::to_string(x.version) + '"';
}

// A unique_key is everybody's: the job that holds it may be another user's.
void write_enqueued(net::json_writer& out, const exchange& x,
                    const enqueued& added) {
  out.begin_object();
  if (x.who().may_see(added.job.user_id)) {
    write_members(out, added.job);
    out.member("deduplicated", added.kind == enqueue_kind::deduplicated);
  } else {
    out.key("id").null();
    out.member("unique_key", *added.job.unique_key)
      .member("deduplicated", true);
  }
  out.end_object();
}

const type_options& known_type(const exchange& x, const std::string& type,
                               const std::string& where) {
  const auto& types = x.context().types;
  if (auto i = types.find(type); i != types.end())
    return i->second;
  std::string list;
  for (const auto& [name, options] : types)
    list += (list.empty() ? "" : ", ") + name;
  throw bad_request(where + "/type '" + type
                    + "' is no job type of this node; allowed are " + list);
}

// Paid ones have a route of their own, which takes the price.
void check_may_post(const exchange& x, const std::string& type) {
  if (!x.who().is_operator
      && (type == "BOOK_GENERATION" || type == "IMAGE_REGEN"))
    throw bad_request(403, "forbidden",
                      "Only an operator may make " + type
                        + " jobs here; POST /api/generate or a page's image");
}

void answer_enqueued(exchange& x, const enqueued& added) {
  if (!x.who().may_see(added.job.user_id))
    throw bad_request(409, "conflict",
                      "An unfinished job of another user has this unique_key");
  auto status = added.kind == enqueue_kind::deduplicated ? 200 : 202;
  std::string body;
  body.reserve(usual_size);
  net::json_writer out{body};
  write_enqueued(out, x, added);
  auto response = json_text_response(status, std::move(body));
  response.headers.emplace_back("Location", "/api/jobs/" + added.job.id);
  response.headers.emplace_back("ETag", etag_of(added.job));
  note_replay(added, response);
  x.respond(std::move(response));
}

job_filter filter_from(const exchange& x) {
  x.allow_query(
    {"status", "type", "target_id", "user_id", "error", "limit", "cursor"});
  job_filter result;
  if (auto status = x.query("status")) {
    result.status = job_status_from(*status);
    if (!result.status)
      throw bad_request("status must be one of PENDING, PROCESSING, "
                        "COMPLETED, FAILED and CANCELLED");
  }
  result.type = x.query("type");
  result.target_id = x.query("target_id");
  result.user_id = x.query("user_id");
  if (!x.who().is_operator)
    result.user_id = x.who().user_id;
  result.error_like = x.query("error");
  result.limit = page_limit(x);
  if (auto cursor = x.query("cursor"))
    result.before_seq = parse_integer("cursor", *cursor, 1, INT64_MAX);
  return result;
}

// What belongs to a job; whose job is it?
template <class List, class... Query>
void list_of_job(exchange& x, const char* name, Query... query) {
  x.allow_query({});
  x.ask<job>(
    [=](exchange& x, job& found) {
      require_visible(x, found.user_id);
      x.ask<List>(
        [name](exchange& x, List& xs) {
          x.respond(200, {{name, to_json(xs)}});
        },
        query...);
    },
    find_atom_v, x.parameter("id"));
}

// Cancel and retry look first: whose job is it?
template <class Write>
void change_job(exchange& x) {
  x.allow_query({});
  auto id = x.parameter("id");
  x.ask<job>(
    [id](exchange& x, job& found) {
      require_visible(x, found.user_id);
      x.ask<changed>(
        [](exchange& x, changed& now) {
          x.respond(job_response(200, now.job));
        },
        Write{id});
    },
    find_atom_v, id);
}

} // namespace

net::http_response job_response(int status, const job& x) {
  auto result = json_text_response(status, json_of(x));
  result.headers.emplace_back("ETag", etag_of(x));
  result.headers.emplace_back("Cache-Control", "no-cache");
  return result;
}

bool matches(std::string_view field, const std::string& etag) {
  return field == "*" || field.find(etag) != std::string_view::npos;
}

std::optional<std::string> owner_of(const exchange& x,
                                    std::optional<std::string> asked) {
  if (x.who().is_operator)
    return asked;
  if (asked && asked != x.who().user_id)
    throw bad_request(403, "forbidden",
                      "A client's key makes jobs for its own user only");
  return x.who().user_id;
}

void note_replay(const enqueued& added, net::http_response& response) {
  if (added.kind == enqueue_kind::replayed)
    response.headers.emplace_back("Idempotency-Replayed", "true");
}

enqueue_write enqueue_from(const exchange& x, nlohmann::json& body,
                           const std::string& where) {
  fields in{body,
            where,
            {"type", "target_id", "payload", "priority", "run_at",
             "max_attempts", "unique_key", "user_id"}};
  enqueue_write result;
  result.id = make_uuid();
  result.type = in.text("type", 100);
  const auto& type = known_type(x, result.type, where);
  check_may_post(x, result.type);
  result.target_id = in.text("target_id", longest_target);
  if (in.has_object("payload"))
    result.payload = std::move(body["payload"]);
  result.priority = static_cast<int32_t>(
    in.optional_integer("priority", -priority_range, priority_range)
      .value_or(0));
  result.run_at = in.optional_time("run_at");
  result.max_attempts =
    static_cast<uint32_t>(in.optional_integer("max_attempts", 1, most_attempts)
                            .value_or(type.max_attempts));
  result.unique_key = in.optional_text("unique_key", longest_key);
  if (result.unique_key && result.unique_key->starts_with(own_key_prefix))
    throw bad_request(where + "/unique_key must not begin with '"
                      + std::string{own_key_prefix}
                      + "': such keys are the node's own");
  result.user_id = owner_of(x, in.optional_text("user_id", longest_user));
  return result;
}

namespace {

struct idempotency {
  std::string key;
  std::string hash;
};

std::optional<idempotency> idempotency_of(const exchange& x) {
  auto key = x.request().header("idempotency-key");
  if (!key)
    return {};
  if (key->empty() || key->size() > longest_key)
    throw bad_request("Idempotency-Key must have 1 to "
                      + std::to_string(longest_key) + " bytes");
  // Callers cannot see each other's keys, however they are spelled.
  auto user = x.who().user_id.value_or("");
  return idempotency{std::to_string(user.size()) + ':' + user + '/'
                       + std::string{*key},
                     sha256_hex(x.request().target + '\n' + x.request().body)};
}

trace_context trace_of(const exchange& x) {
  auto parent = x.request().header("traceparent");
  if (!parent)
    return {};
  auto state = x.request().header("tracestate");
  return read_trace(*parent, state.value_or(std::string_view{}));
}

} // namespace

void take_header_fields(const exchange& x, enqueue_write& what) {
  what.trace = trace_of(x);
  if (auto found = idempotency_of(x)) {
    what.idempotency_key = std::move(found->key);
    what.idempotency_hash = std::move(found->hash);
  }
}

void post_job(exchange& x) {
  x.allow_query({});
  auto body = json_body(x);
  auto what = enqueue_from(x, body, "");
  take_header_fields(x, what);
  x.ask<enqueued>(
    [](exchange& x, enqueued& added) { answer_enqueued(x, added); },
    std::move(what));
}

void post_jobs_batch(exchange& x) {
  x.allow_query({});
  auto body = json_body(x);
  fields in{body, "", {"jobs"}};
  enqueue_batch_write what;
  what.jobs.reserve(in.array("jobs", most_jobs_in_batch).size());
  std::optional<idempotency> together;
  const auto trace = trace_of(x);
  for (auto& member : body["jobs"]) {
    auto place = "/jobs/" + std::to_string(what.jobs.size());
    what.jobs.push_back(enqueue_from(x, member, place));
    what.jobs.back().trace = trace;
    // The digest is that of the whole body: taken once.
    if (what.jobs.size() == 1)
      together = idempotency_of(x);
    if (!together)
      continue;
    what.jobs.back().idempotency_key = together->key + place;
    what.jobs.back().idempotency_hash = together->hash;
  }
  x.ask<enqueued_batch>(
    [](exchange& x, enqueued_batch& added) {
      std::string body;
      body.reserve(added.jobs.size() * usual_size);
      net::json_writer out{body};
      out.begin_object().key("jobs").begin_array();
      for (const auto& member : added.jobs)
        write_enqueued(out, x, member);
      out.end_array().end_object();
      auto response = json_text_response(202, std::move(body));
      note_replay(added.jobs.front(), response);
      x.respond(std::move(response));
    },
    std::move(what));
}

void get_job(exchange& x) {
  x.allow_query({"wait"});
  auto most =
    std::chrono::duration_cast<std::chrono::seconds>(x.context().http.max_wait);
  std::chrono::seconds wait{0};
  if (auto text = x.query("wait"))
    wait = std::chrono::seconds{parse_integer("wait", *text, 0, most.count())};
  x.ask<job>(
    [wait](exchange& x, job& found) {
      require_visible(x, found.user_id);
      auto known = x.request().header("if-none-match");
      auto is_known = known && matches(*known, etag_of(found));
      if (wait.count() > 0 && !is_final(found.status) && (!known || is_known)) {
        auto version = found.version;
        return wait_for_job(x, std::move(found), version, wait);
      }
      if (is_known)
        return x.respond(
          net::http_response{304, {{"ETag", etag_of(found)}}, {}});
      x.respond(job_response(200, found));
    },
    find_atom_v, x.parameter("id"));
}

void get_jobs(exchange& x) {
  auto filter = filter_from(x);
  auto limit = filter.limit;
  ++filter.limit; // one more tells whether there is another page
  x.ask<job_list>(
    [limit](exchange& x, job_list& found) {
      std::optional<std::string> cursor;
      if (found.size() > limit) {
        found.resize(limit);
        cursor = std::to_string(found.back().seq);
      }
      std::string body;
      body.reserve(found.size() * usual_size);
      net::json_writer out{body};
      out.begin_object().key("jobs").begin_array();
      for (const auto& member : found)
        write_json(out, member);
      out.end_array().member("next_cursor", cursor).end_object();
      x.respond(json_text_response(200, std::move(body)));
    },
    find_atom_v, std::move(filter));
}

void get_attempts(exchange& x) {
  list_of_job<attempt_list>(x, "attempts", attempts_atom_v, x.parameter("id"));
}

void get_steps(exchange& x) {
  list_of_job<step_list>(x, "steps", steps_query{x.parameter("id")});
}

void post_cancel(exchange& x) {
  change_job<cancel_write>(x);
}

void post_retry(exchange& x) {
  change_job<retry_write>(x);
}

} // namespace reeve
