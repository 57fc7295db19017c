// persistence/postgres_store.cpp -- a batch of writes as one transaction.
#include "persistence/postgres_store.hpp"

#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"

#include <algorithm>

namespace reeve {

namespace {

// Deadlocks are rare and end one of the two transactions: the other goes on.
constexpr int max_tries = 8;

// A client can ask again; a run's step or end has nobody who would.
bool can_be_refused(const write& x) {
  return !std::holds_alternative<settle_write>(x)
    && !std::holds_alternative<step_write>(x)
    && !std::holds_alternative<heartbeat_write>(x)
    && !std::holds_alternative<claim_write>(x)
    && !std::holds_alternative<rescue_write>(x);
}

refusal refusal_from(const std::exception& err) {
  if (classify(err) == postgres_failure::blocked)
    return {refusal_code::conflict,
            "another transaction holds this key or job; try again later"};
  const std::string_view text = err.what();
  // Two retried jobs, or a retried and a new one, raced for the same key.
  if (text.find("job_active_key") != std::string_view::npos)
    return key_is_held();
  return {refusal_code::invalid_argument, message_of(err)};
}

// Repeats `f` while it loses against other transactions.
template <class F>
auto with_retries(F f) {
  for (int i = 1;; ++i) {
    try {
      return f();
    } catch (const std::exception& err) {
      if (i == max_tries || classify(err) != postgres_failure::again)
        throw;
    }
  }
}

} // namespace

postgres_store::postgres_store(std::string conninfo)
  : session_(std::move(conninfo)) {
  reconnect();
}

std::string_view postgres_store::backend() const {
  return "postgresql";
}

void postgres_store::reconnect() {
  session_.connect();
}

std::vector<write_answer> postgres_store::apply(
  const std::vector<write_entry>& batch) {
  if (batch.empty())
    return {};
  return session_.translated([&] {
    if (auto result = with_retries([&] { return apply_together(batch); }))
      return *std::move(result);
    return with_retries([&] { return apply_each(batch); });
  });
}

std::optional<std::vector<write_answer>> postgres_store::apply_together(
  const std::vector<write_entry>& batch) {
  std::vector<write_answer> result(batch.size());
  std::vector<postgres_item> items;
  for (size_t i = 0; i < batch.size(); ++i)
    items.push_back({&batch[i], &result[i]});
  try {
    pqxx::work tx{session_.connection()};
    postgres_writer{session_, tx, false}.apply(items);
    tx.commit();
    return result;
  } catch (const postgres_writer::needs_savepoints&) {
    return std::nullopt;
  } catch (const std::exception& err) {
    // One program that keeps its transaction open must not stop all others.
    if (auto why = classify(err);
        why != postgres_failure::refused && why != postgres_failure::blocked)
      throw;
    return std::nullopt;
  }
}

std::vector<write_answer> postgres_store::apply_each(
  const std::vector<write_entry>& batch) {
  std::vector<write_answer> result(batch.size());
  std::vector<postgres_item> items;
  for (size_t i = 0; i < batch.size(); ++i)
    items.push_back({&batch[i], &result[i]});
  // `write` lists its alternatives in the order in which they are applied.
  std::ranges::stable_sort(
    items, {}, [](const postgres_item& x) { return x.entry->what.index(); });
  pqxx::work tx{session_.connection()};
  for (const auto& item : items) {
    try {
      pqxx::subtransaction savepoint{tx};
      postgres_writer{session_, savepoint, true}.apply({&item, 1});
      if (!std::holds_alternative<refusal>(*item.answer))
        savepoint.commit();
    } catch (const std::exception& err) {
      auto why = classify(err);
      if (why != postgres_failure::refused
          && !(why == postgres_failure::blocked
               && can_be_refused(item.entry->what)))
        throw;
      *item.answer = refusal_from(err);
    }
  }
  tx.commit();
  return result;
}

} // namespace reeve
