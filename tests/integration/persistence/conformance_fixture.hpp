// tests/integration/persistence/conformance_fixture.hpp -- what the tests that
// both stores must pass have in common.
#pragma once

#include "answers.hpp"
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
    CHECK_EQ(backend.number(R"(
      SELECT count(*) FROM job
      WHERE (fingerprint IS NOT NULL) <> (coalesce(outcome, '') = 'FAILED'))"),
             0);
    CHECK_EQ(backend.number(R"(
      SELECT count(*) FROM job j WHERE input_tokens + output_tokens + images <>
        (SELECT coalesce(sum(input_tokens + output_tokens + images), 0)
         FROM job_steps s WHERE s.seq = j.seq))"),
             0);
    CHECK_EQ(ledger_errors(), 0);
  }

  /// A balance is the sum of its lines; of a paid job is taken what it costs,
  /// and nothing once it is FAILED or CANCELLED.
  int64_t ledger_errors() {
    return backend.number(R"(
        SELECT count(*) FROM accounts a WHERE balance < 0 OR balance <>
          (SELECT coalesce(sum(amount), 0) FROM ledger l
           WHERE l.user_id = a.user_id))")
      + backend.number(R"(
        SELECT count(*) FROM job j WHERE
          (SELECT coalesce(sum(amount), 0) FROM ledger l
           WHERE l.job_id = j.id)
          <> CASE WHEN outcome IN ('FAILED', 'CANCELLED') THEN 0
                  ELSE -price END)");
  }

  // -- one write at a time ----------------------------------------------------

  write_answer answer(write what, bool repeated = false) {
    auto answers = store->apply({{std::move(what), repeated}});
    REQUIRE_EQ(answers.size(), 1u);
    return std::move(answers.front());
  }

  template <class Answer>
  Answer get(write what, bool repeated = false) {
    auto x = answer(std::move(what), repeated);
    if (auto* no = std::get_if<refusal>(&x))
      FAIL("refused: " << no->message);
    auto result = answer_as<Answer>(std::move(x));
    REQUIRE(result.has_value());
    return *std::move(result);
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

  static enqueue_write new_book_job(std::string user = "user",
                                    int64_t price = 0) {
    auto result = new_job("BOOK_GENERATION", make_uuid());
    result.user_id = user;
    result.price = price;
    result.new_content = content{};
    auto& book = *result.new_content;
    book.id = result.target_id;
    book.job_id = result.id;
    book.user_id = std::move(user);
    book.title = "a title";
    book.prompt = "an owl";
    book.page_count = 3;
    return result;
  }

  int64_t grant(const std::string& user, int64_t amount) {
    return get<granted>(grant_write{make_uuid(), user, amount, "a note"})
      .balance;
  }

  int64_t balance(const std::string& user = "user") {
    return store->find_account(user, 0).balance;
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

  static knowledge_card& card_in(settle_write& x) {
    return std::get<knowledge_card>(x.effects.at(0));
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

  /// All types that tests enqueue and do not name in a claim of their own.
  static std::vector<claimable_type> every_type(uint32_t limit = 100'000) {
    return {{"TEST", limit},
            {"OTHER", limit},
            {"A", limit},
            {"B", limit},
            {"CARD_ANALYSIS", limit},
            {"TIL_GENERATION", limit},
            {"RECALL_GENERATION", limit},
            {"BOOK_GENERATION", limit},
            {"IMAGE_REGEN", limit}};
  }

  claim_write claim(uint32_t limit, ms lease = ms{30'000}) {
    return {me, every_type(), limit, lease, ++last_token};
  }

  job start(lease_owner owner, ms lease = ms{30'000}) {
    auto result =
      get<claimed>(claim_write{owner, every_type(), 1, lease, ++last_token});
    REQUIRE_EQ(result.jobs.size(), 1u);
    return result.jobs.front();
  }

  job start() {
    return start(me);
  }

  settle_write ending(const job& x, run_outcome outcome, verdict decision) {
    settle_write result;
    result.claimed = std::make_shared<const job>(x);
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

  static step_write step_of(const job& x, std::string name = "text",
                            std::string hash = "hash") {
    step_write result;
    result.seq = x.seq;
    result.run = x.run;
    result.step.name = std::move(name);
    result.step.input_hash = std::move(hash);
    result.step.result = {{"text", "옛날 옛적에"}, {"tenth", 0.1}};
    result.step.provider = "anthropic";
    result.step.model = "a model";
    result.step.used = {100, 20, 3};
    result.step.took = std::chrono::milliseconds{1'500};
    return result;
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
                           x.payload.value().dump(),
                           x.result.value().dump(),
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
                           std::to_string(x.used.input_tokens),
                           std::to_string(x.used.output_tokens),
                           std::to_string(x.used.images),
                           std::to_string(x.unspent.throttled),
                           std::to_string(x.unspent.provider_down),
                           std::to_string(x.unspent.interrupted),
                           x.trace.parent,
                           x.trace.state,
                           micros(x.created_at),
                           micros(x.started_at),
                           micros(x.finished_at)})
    result += part + '\n';
  return result;
}

} // namespace reeve
