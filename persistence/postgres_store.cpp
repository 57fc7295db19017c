// persistence/postgres_store.cpp -- a batch of writes as one transaction.
#include "persistence/postgres_store.hpp"

#include "persistence/store_rules.hpp"

#include <algorithm>

namespace reeve {

namespace {

// Where somebody keeps a lock, everybody in the batch waits with the one that
// needs it, and others for what the batch holds: so the waits become short for
// a while, and still longer than another node's commit takes.
constexpr std::chrono::seconds short_waits_after_block{5};
constexpr const char* short_wait_sql = "SET LOCAL lock_timeout = '50ms'";
// From this many blocked writes of a batch on, those that remain wait for
// nobody.
constexpr int max_short_waits = 10;
constexpr const char* no_wait_sql = "SET LOCAL lock_timeout = '1ms'";

constexpr postgres_statement announce_sql{
  "announce", "SELECT pg_notify('reeve_queue', $1)"};

// Statements that write find their rows by key, whatever the values: to plan
// them anew each time takes longer than to run them.
constexpr const char* plan_once_sql =
  "SET plan_cache_mode = force_generic_plan";

// Ends by success are one statement, which is a transaction by itself. (What is
// repeated takes a second look.)
bool is_one_statement(const std::vector<write_entry>& batch) {
  return std::ranges::all_of(batch, [](const write_entry& x) {
    const auto* end = std::get_if<settle_write>(&x.what);
    return end != nullptr && !x.repeated && is_plain(*end);
  });
}

// What a run or node writes is asked again by itself, a client is told.
bool is_asked_again(const write& x) {
  return std::holds_alternative<settle_write>(x)
    || std::holds_alternative<step_write>(x)
    || std::holds_alternative<progress_write>(x)
    || std::holds_alternative<heartbeat_write>(x)
    || std::holds_alternative<rescue_write>(x)
    || std::holds_alternative<prune_write>(x)
    || std::holds_alternative<claim_write>(x);
}

refusal refusal_from(const std::exception& err, const write& what) {
  if (classify(err) == postgres_failure::blocked)
    return {is_asked_again(what) ? refusal_code::blocked
                                 : refusal_code::conflict,
            "another transaction holds this key or job; try again later"};
  const std::string_view text = err.what();
  // Two retried jobs, or a retried and a new one, raced for the same key.
  if (text.find("job_active_key") != std::string_view::npos)
    return key_is_held();
  return {refusal_code::invalid_argument, message_of(err)};
}

std::vector<postgres_item> items_of(const std::vector<write_entry>& batch,
                                    std::vector<write_answer>& answers) {
  std::vector<postgres_item> result;
  result.reserve(batch.size());
  for (size_t i = 0; i < batch.size(); ++i)
    result.push_back({&batch[i], &answers[i]});
  return result;
}

// Something is committed, and what went wrong afterwards says nothing against
// it: who repeats the batch looks first.
store_unavailable committed_unseen(const std::exception& err) {
  return store_unavailable{"postgresql: " + message_of(err)};
}

} // namespace

postgres_store::postgres_store(std::string conninfo, std::string announcer,
                               int64_t max_cards_in_memory_bytes)
  : session_(std::move(conninfo)),
    announcer_(std::move(announcer)),
    max_cards_in_memory_bytes_(max_cards_in_memory_bytes) {
  reconnect();
}

std::string_view postgres_store::backend() const {
  return "postgresql";
}

void postgres_store::reconnect() {
  session_.connect();
  plans_once_ = false;
}

std::vector<write_answer> postgres_store::apply(
  const std::vector<write_entry>& batch) {
  if (batch.empty())
    return {};
  return session_.translated([&] {
    plan_once();
    if (auto result = with_retries([&] { return apply_at_once(batch); }))
      return *std::move(result);
    return apply_in_transactions(batch);
  });
}

// Where nothing stands against it, it is a statement by itself, and so is each
// further look.
claim_answer postgres_store::claim(const claim_write& what, bool repeated) {
  const auto is_limited =
    std::ranges::any_of(what.types, &claimable_type::across);
  if (repeated || is_limited || was_blocked_lately() || check(what))
    return job_store::claim(what, repeated);
  auto taken = session_.translated([&]() -> unread_claim_ptr {
    plan_once();
    try {
      pqxx::nontransaction tx{session_.connection()};
      return std::make_shared<postgres_taken>(
        postgres_writer{session_, tx, false}.take(what));
    } catch (const std::exception& err) {
      const auto why = classify(err);
      if (why == postgres_failure::unavailable)
        throw;
      if (why == postgres_failure::blocked)
        blocked_at_ = std::chrono::steady_clock::now();
      return nullptr;
    }
  });
  // A look that failed may not have been the first one.
  return taken ? claim_answer{std::move(taken)} : job_store::claim(what, true);
}

void postgres_store::plan_once() {
  if (plans_once_)
    return;
  pqxx::nontransaction{session_.connection()}.exec(plan_once_sql);
  plans_once_ = true;
}

void postgres_store::plan_boot() {
  plan({&stale_runs_statement, &claim_statement});
}

void postgres_store::expect_claims() {
  plan({&claim_statement});
}

void postgres_store::plan(
  std::initializer_list<const postgres_statement*> statements) {
  try {
    plan_once();
    pqxx::nontransaction tx{session_.connection()};
    for (const auto* x : statements)
      session_.plan(tx, *x);
  } catch (const std::exception&) {
    // Then at its first run.
  }
}

void postgres_store::announce() {
  session_.translated([&] {
    // A transaction of its own: in one with other writes, NOTIFY would keep
    // all other nodes from committing at the same time.
    try {
      pqxx::nontransaction tx{session_.connection()};
      session_.run(tx, announce_sql, pqxx::params{announcer_});
    } catch (const std::exception& err) {
      // A hint that cannot be given now is none to lose the connection for.
      if (classify(err) == postgres_failure::unavailable)
        throw;
    }
  });
}

bool postgres_store::was_blocked_lately() const {
  return blocked_at_
    && std::chrono::steady_clock::now() - *blocked_at_
    < short_waits_after_block;
}

// One program that keeps its transaction open must not stop all others.
bool postgres_store::is_against_a_write(const std::exception& err) {
  const auto why = classify(err);
  if (why == postgres_failure::blocked)
    blocked_at_ = std::chrono::steady_clock::now();
  return why == postgres_failure::blocked || why == postgres_failure::refused;
}

std::optional<std::vector<write_answer>> postgres_store::apply_at_once(
  const std::vector<write_entry>& batch) {
  if (was_blocked_lately())
    return std::nullopt;
  std::vector<write_answer> result(batch.size());
  const auto items = items_of(batch, result);
  const auto are_ends = is_one_statement(batch);
  if (!are_ends && !postgres_writer::can_add_at_once(items))
    return std::nullopt;
  std::vector<size_t> open;
  try {
    pqxx::nontransaction tx{session_.connection()};
    postgres_writer writer{session_, tx, false};
    if (are_ends)
      writer.apply(items);
    else
      open = writer.add_at_once(items);
  } catch (const pqxx::failure& err) {
    // The statement failed, and left nothing.
    if (!is_against_a_write(err))
      throw;
    return apply_each(batch);
  } catch (const std::exception& err) {
    throw committed_unseen(err);
  }
  if (open.empty())
    return result;
  // Most often the claim, since other jobs are due. Whatever becomes of it, the
  // rest is committed, and nothing here may have it done again.
  std::vector<write_entry> rest;
  for (auto i : open)
    rest.push_back(batch[i]);
  try {
    auto answers = apply_in_transactions(rest);
    for (size_t i = 0; i < open.size(); ++i)
      result[open[i]] = std::move(answers[i]);
  } catch (const std::exception& err) {
    throw committed_unseen(err);
  }
  return result;
}

std::vector<write_answer> postgres_store::apply_in_transactions(
  const std::vector<write_entry>& batch) {
  if (auto result = with_retries([&] { return apply_together(batch); }))
    return *std::move(result);
  return with_retries([&] { return apply_each(batch); });
}

std::optional<std::vector<write_answer>> postgres_store::apply_together(
  const std::vector<write_entry>& batch, postgres_writer::arrivals_by way) {
  std::vector<write_answer> result(batch.size());
  try {
    pqxx::work tx{session_.connection()};
    if (was_blocked_lately())
      tx.exec(short_wait_sql);
    postgres_writer{session_, tx, false, way}.apply(items_of(batch, result));
    tx.commit();
    return result;
  } catch (const postgres_writer::copy_refused&) {
    return apply_together(batch, postgres_writer::arrivals_by::insert);
  } catch (const postgres_writer::needs_savepoints&) {
    return std::nullopt;
  } catch (const std::exception& err) {
    if (!is_against_a_write(err))
      throw;
    return std::nullopt;
  }
}

std::vector<write_answer> postgres_store::apply_each(
  const std::vector<write_entry>& batch) {
  std::vector<write_answer> result(batch.size());
  auto items = items_of(batch, result);
  // `write` lists its alternatives in the order in which they are applied.
  std::ranges::stable_sort(
    items, {}, [](const postgres_item& x) { return x.entry->what.index(); });
  pqxx::work tx{session_.connection()};
  if (was_blocked_lately())
    tx.exec(short_wait_sql);
  int blocked = 0;
  for (const auto& item : items) {
    try {
      pqxx::subtransaction savepoint{tx};
      postgres_writer{session_, savepoint, true}.apply({&item, 1});
      if (!std::holds_alternative<refusal>(*item.answer))
        savepoint.commit();
    } catch (const std::exception& err) {
      const auto why = classify(err);
      if (why != postgres_failure::refused && why != postgres_failure::blocked)
        throw;
      *item.answer = refusal_from(err, item.entry->what);
      if (why != postgres_failure::blocked)
        continue;
      blocked_at_ = std::chrono::steady_clock::now();
      tx.exec(++blocked < max_short_waits ? short_wait_sql : no_wait_sql);
    }
  }
  tx.commit();
  return result;
}

} // namespace reeve
