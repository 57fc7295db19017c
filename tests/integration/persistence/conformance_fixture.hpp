// tests/integration/persistence/conformance_fixture.hpp -- what the tests that
// both stores must pass have in common.
#pragma once

#include "persistence/job_store.hpp"
#include "persistence/uuid.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <string>
#include <utility>
#include <vector>

namespace reeve {

/// A fresh, migrated database for one test. `Backend` has
/// - `std::unique_ptr<job_store> connect()`: another connection to it;
/// - `int64_t number(const std::string& sql)`: asks beside the stores; tables
///   are named without a schema.
template <class Backend>
struct conformance_fixture {
  using ms = std::chrono::milliseconds;

  Backend backend;
  std::unique_ptr<job_store> store = backend.connect();
  lease_owner me{"node-a", 7};
  lease_owner other{"node-b", 3};
  int64_t last_token = 0;

  // After every test: the state of a job is the table it stands in.
  ~conformance_fixture() {
    CHECK_EQ(backend.number(R"(
      SELECT count(*) FROM job j WHERE outcome IS NULL AND
        (SELECT count(*) FROM queue q WHERE q.seq = j.seq)
        + (SELECT count(*) FROM running r WHERE r.seq = j.seq) <> 1)"),
             0);
    CHECK_EQ(backend.number(R"(
      SELECT count(*) FROM job j WHERE outcome IS NOT NULL AND
        (SELECT count(*) FROM queue q WHERE q.seq = j.seq)
        + (SELECT count(*) FROM running r WHERE r.seq = j.seq) <> 0)"),
             0);
    CHECK_EQ(backend.number(R"(
      SELECT count(*) FROM job_attempts a JOIN jobs j ON j.seq = a.seq
      WHERE a.run > j.run OR a.finished_at < a.started_at)"),
             0);
    CHECK_EQ(backend.number(R"(
      SELECT count(*) FROM job
      WHERE finished_at < created_at OR finished_at < started_at
        OR started_at < created_at OR updated_at < created_at)"),
             0);
  }

  // -- one write at a time ----------------------------------------------------

  write_answer answer(write what, bool repeated = false) {
    auto answers = store->apply({{std::move(what), repeated}});
    REQUIRE_EQ(answers.size(), 1u);
    return std::move(answers.front());
  }

  template <class Answer>
  Answer get(write what, bool repeated = false) {
    auto result = answer(std::move(what), repeated);
    if (auto* no = std::get_if<refusal>(&result))
      FAIL("refused: " << no->message);
    REQUIRE(std::holds_alternative<Answer>(result));
    return std::get<Answer>(std::move(result));
  }

  /// The spelling of the refusal, or `accepted`.
  std::string refused(write what, bool repeated = false) {
    return code_of(answer(std::move(what), repeated));
  }

  static std::string code_of(const write_answer& x) {
    auto* no = std::get_if<refusal>(&x);
    if (!no)
      return "accepted";
    CHECK(!no->message.empty());
    return std::string{to_string(no->code)};
  }

  static std::string message_of(const write_answer& x) {
    auto* no = std::get_if<refusal>(&x);
    return no ? no->message : "";
  }

  // -- jobs -------------------------------------------------------------------

  static enqueue_write new_job(std::string type = "TEST",
                               std::string target = "target") {
    enqueue_write result;
    result.id = make_uuid();
    result.type = std::move(type);
    result.target_id = std::move(target);
    return result;
  }

  static enqueue_write new_scrap_job(std::string content = "a text") {
    auto result = new_job("CARD_ANALYSIS", make_uuid());
    result.new_scrap = scrap{};
    result.new_scrap->id = result.target_id;
    result.new_scrap->content = std::move(content);
    return result;
  }

  static knowledge_card card_for(const job& x) {
    knowledge_card result;
    result.id = make_uuid();
    result.scrap_id = x.target_id;
    result.job_id = x.id;
    result.summary = "요약";
    result.tags = {"하나", "two", "\"quoted\", {braced} \\"};
    result.embedding = {0.5f, -1.25f, 3e-7f, 0.1f};
    result.model = "local";
    return result;
  }

  job add(enqueue_write x) {
    return get<enqueued>(std::move(x)).job;
  }

  job add() {
    return add(new_job());
  }

  job now(const job& x) {
    auto result = store->find_job(x.id);
    REQUIRE(result.has_value());
    return *result;
  }

  std::string state(const job& x) {
    return std::string{to_string(now(x).status)};
  }

  // -- runs -------------------------------------------------------------------

  claim_write claim(uint32_t limit, ms lease = ms{30'000}) {
    return {me, limit, lease, ++last_token};
  }

  job start(lease_owner owner, ms lease = ms{30'000}) {
    auto result = get<claimed>(claim_write{owner, 1, lease, ++last_token});
    REQUIRE_EQ(result.jobs.size(), 1u);
    return result.jobs.front();
  }

  job start() {
    return start(me);
  }

  settle_write ending(const job& x, run_outcome outcome, verdict decision) {
    settle_write result;
    result.claimed = x;
    result.owner = me;
    result.outcome = outcome;
    result.decision = decision;
    result.why = "a reason";
    if (decision == verdict::complete)
      result.result = {{"answer", 42}};
    else
      result.error = std::string{"error: "} + std::string{to_string(outcome)};
    return result;
  }

  job settle(const job& x, run_outcome outcome, verdict decision) {
    return get<changed>(ending(x, outcome, decision)).job;
  }

  job complete(const job& x) {
    return settle(x, run_outcome::completed, verdict::complete);
  }

  job fail(const job& x) {
    return settle(x, run_outcome::failed, verdict::fail);
  }

  // -- jobs in each state -----------------------------------------------------

  job in_state(job_status status) {
    auto x = add();
    if (status == job_status::pending)
      return x;
    if (status == job_status::cancelled)
      return get<changed>(cancel_write{x.id}).job;
    // No other job may be due when this is called.
    auto running = start();
    REQUIRE_EQ(running.id, x.id);
    if (status == job_status::completed)
      return complete(running);
    if (status == job_status::failed)
      return fail(running);
    return running;
  }
};

/// Everything clients can see, in one text to compare.
inline std::string seen(const job& x) {
  auto micros = [](const std::optional<timestamp>& t) {
    return t ? std::to_string(t->time_since_epoch().count()) : "-";
  };
  std::string result;
  for (const auto& part : {std::to_string(x.seq),
                           x.id,
                           x.type,
                           std::string{to_string(x.status)},
                           x.target_id,
                           x.user_id.value_or("-"),
                           x.payload.dump(),
                           x.result.dump(),
                           std::to_string(x.progress_percent),
                           x.progress_message,
                           x.error_message.value_or("-"),
                           std::to_string(x.attempts),
                           std::to_string(x.max_attempts),
                           std::to_string(x.priority),
                           x.unique_key.value_or("-"),
                           micros(x.run_at),
                           x.reason,
                           std::to_string(x.cancel_requested),
                           std::to_string(x.version),
                           std::to_string(x.run),
                           micros(x.created_at),
                           micros(x.started_at),
                           micros(x.finished_at)})
    result += part + '\n';
  return result;
}

} // namespace reeve
