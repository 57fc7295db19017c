// persistence/postgres_ledger.cpp -- what paid jobs take off a balance and get
// back.
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_store.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/text.hpp"
#include "persistence/uuid.hpp"

namespace reeve {

namespace {

// Locked until the commit, so that two requests at once never overdraw.
constexpr postgres_statement hold_accounts_sql{"hold_accounts", R"(
  SELECT user_id, balance FROM reeve.accounts WHERE user_id = ANY($1::text[])
  ORDER BY user_id FOR NO KEY UPDATE)"};

// Those that are known to be needed: users, payers of jobs by seq and by id.
constexpr postgres_statement hold_payers_sql{"hold_payers", R"(
  SELECT a.user_id FROM reeve.accounts a
  WHERE a.user_id IN (
    SELECT unnest($1::text[])
    UNION SELECT j.user_id FROM reeve.job j
      WHERE j.seq = ANY($2::bigint[]) AND j.price > 0
    UNION SELECT j.user_id FROM reeve.job j
      WHERE j.id = ANY($3::uuid[]) AND j.price > 0)
  ORDER BY a.user_id FOR NO KEY UPDATE OF a)"};

// The caller holds the jobs: their lines cannot change.
constexpr postgres_statement taken_sql{"taken", R"(
  SELECT j.seq FROM reeve.job j
  WHERE j.seq = ANY($1::bigint[])
    AND (SELECT sum(l.amount) FROM reeve.ledger l WHERE l.job_id = j.id) < 0)"};

// The caller holds the accounts, and the jobs or has just added them.
constexpr postgres_statement charge_sql{"charge", R"(
  WITH charged AS (
    INSERT INTO reeve.ledger (user_id, kind, amount, job_id, round, note)
    SELECT j.user_id, 'charge', -j.price, j.id,
      (SELECT count(*) FROM reeve.ledger l
       WHERE l.job_id = j.id AND l.kind = 'charge'), j.job_type
    FROM reeve.job j WHERE j.seq = ANY($1::bigint[]) ORDER BY j.seq
    RETURNING user_id, amount)
  UPDATE reeve.accounts a SET balance = a.balance + c.amount
  FROM (SELECT user_id, sum(amount)::bigint AS amount FROM charged
        GROUP BY user_id) c
  WHERE a.user_id = c.user_id)"};

// The caller has just ended the jobs, so that their lines cannot change.
constexpr postgres_statement payers_sql{"payers", R"(
  SELECT DISTINCT l.user_id
  FROM reeve.job j JOIN reeve.ledger l ON l.job_id = j.id
  WHERE j.seq = ANY($1::bigint[]))"};

constexpr postgres_statement refund_sql{"refund", R"(
  WITH owed AS (
    SELECT l.user_id, l.job_id, j.job_type, -sum(l.amount)::bigint AS amount,
      count(*) FILTER (WHERE l.kind = 'charge') - 1 AS round
    FROM reeve.job j JOIN reeve.ledger l ON l.job_id = j.id
    WHERE j.seq = ANY($1::bigint[])
    GROUP BY l.user_id, l.job_id, j.job_type HAVING sum(l.amount) < 0),
  refunded AS (
    INSERT INTO reeve.ledger (user_id, kind, amount, job_id, round, note)
    SELECT user_id, 'refund', amount, job_id, round, job_type FROM owed
    RETURNING user_id, amount)
  UPDATE reeve.accounts a SET balance = a.balance + r.amount
  FROM (SELECT user_id, sum(amount)::bigint AS amount FROM refunded
        GROUP BY user_id) r
  WHERE a.user_id = r.user_id)"};

constexpr postgres_statement open_account_sql{"open_account", R"(
  INSERT INTO reeve.accounts (user_id) VALUES ($1) ON CONFLICT DO NOTHING)"};

constexpr postgres_statement was_granted_sql{"was_granted", R"(
  SELECT 1 FROM reeve.ledger WHERE grant_id = $1)"};

constexpr postgres_statement grant_sql{"grant", R"(
  WITH granted AS (
    INSERT INTO reeve.ledger (user_id, kind, amount, grant_id, note)
    VALUES ($1, 'grant', $2, $3, $4)
    RETURNING user_id, amount)
  UPDATE reeve.accounts a SET balance = a.balance + g.amount
  FROM granted g WHERE a.user_id = g.user_id
  RETURNING a.balance)"};

constexpr postgres_statement balance_sql{"balance", R"(
  SELECT balance FROM reeve.accounts WHERE user_id = $1)"};

constexpr postgres_statement entries_sql{"entries", R"(
  SELECT seq, user_id, kind, amount, job_id, note, created_at
  FROM reeve.ledger WHERE user_id = $1 ORDER BY seq DESC LIMIT $2)"};

ledger_entry read_entry(const pqxx::row& row) {
  ledger_entry result;
  result.seq = row[0].as<int64_t>();
  result.user_id = row[1].as<std::string>();
  result.kind = ledger_kind_from(row[2].view()).value_or(ledger_kind::grant);
  result.amount = row[3].as<int64_t>();
  result.job_id = read_text(row[4]);
  result.note = row[5].as<std::string>();
  result.created_at = read_time(row[6]);
  return result;
}

} // namespace

postgres_writer::balances postgres_writer::hold_accounts(
  const std::set<std::string>& users) {
  balances result;
  if (users.empty())
    return result;
  const std::vector<std::string> list{users.begin(), users.end()};
  for (const auto& row : run(hold_accounts_sql, pqxx::params{list}))
    result.emplace(row[0].as<std::string>(), row[1].as<int64_t>());
  return result;
}

// All at once and in one order, before the batch locks anything else: else two
// batches that take money and give it back would wait for each other.
void postgres_writer::hold_accounts(std::span<const postgres_item> items) {
  std::set<std::string> users, ids;
  std::set<int64_t> seqs;
  auto add_job = [&ids](const std::string& id) {
    if (is_uuid(id))
      ids.insert(lower_case(id));
  };
  auto add_payer = [&users](const enqueue_write& x) {
    if (x.price > 0 && x.user_id && is_storable(*x.user_id))
      users.insert(*x.user_id);
  };
  for (const auto& item : items) {
    const auto& what = item.entry->what;
    if (const auto* x = std::get_if<enqueue_write>(&what)) {
      add_payer(*x);
    } else if (const auto* x = std::get_if<enqueue_batch_write>(&what)) {
      for (const auto& y : x->jobs)
        add_payer(y);
    } else if (const auto* x = std::get_if<settle_write>(&what)) {
      // Only a user pays. A cancelled or targetless end that comes as another
      // decision is found later.
      if (x->claimed->user_id
          && (x->decision == verdict::fail || x->decision == verdict::cancel))
        seqs.insert(x->claimed->seq);
    } else if (const auto* x = std::get_if<cancel_write>(&what)) {
      add_job(x->id);
    } else if (const auto* x = std::get_if<retry_write>(&what)) {
      add_job(x->id);
    } else if (const auto* x = std::get_if<grant_write>(&what)) {
      if (is_storable(x->user_id))
        users.insert(x->user_id);
    }
  }
  if (users.empty() && ids.empty() && seqs.empty())
    return;
  run(hold_payers_sql,
      pqxx::params{std::vector<std::string>{users.begin(), users.end()},
                   std::vector<int64_t>{seqs.begin(), seqs.end()},
                   std::vector<std::string>{ids.begin(), ids.end()}});
}

// Of `seqs`, the jobs whose price was taken and not given back.
std::set<int64_t> postgres_writer::paid_jobs(const std::vector<int64_t>& seqs) {
  std::set<int64_t> result;
  if (!seqs.empty())
    for (const auto& row : run(taken_sql, pqxx::params{seqs}))
      result.insert(row[0].as<int64_t>());
  return result;
}

void postgres_writer::charge(const std::vector<int64_t>& seqs) {
  if (!seqs.empty())
    run(charge_sql, pqxx::params{seqs});
}

void postgres_writer::refund() {
  if (to_refund_.empty())
    return;
  const auto seqs = std::exchange(to_refund_, {});
  std::set<std::string> users;
  for (const auto& row : run(payers_sql, pqxx::params{seqs}))
    users.insert(row[0].as<std::string>());
  hold_accounts(users);
  run(refund_sql, pqxx::params{seqs});
}

void postgres_writer::grant(const slot<grant_write>& x) {
  const auto& what = x.what;
  if (auto no = check(what)) {
    x.answer = *std::move(no);
    return;
  }
  const auto id = lower_case(what.id);
  run(open_account_sql, pqxx::params{what.user_id});
  const auto balance = hold_accounts({what.user_id}).at(what.user_id);
  if (!run(was_granted_sql, pqxx::params{id}).empty())
    x.answer = granted{balance};
  else if (auto no = check_balance(what.user_id, balance, what.amount))
    x.answer = *std::move(no);
  else
    x.answer = granted{
      run(grant_sql, pqxx::params{what.user_id, what.amount, id, what.note})
        .one_row()[0]
        .as<int64_t>()};
}

account postgres_store::find_account(const std::string& user_id,
                                     uint32_t limit) {
  account result;
  result.user_id = user_id;
  if (!is_storable(user_id))
    return result;
  return session_.read([&](postgres_snapshot& tx) {
    const auto rows = session_.run(tx, balance_sql, pqxx::params{user_id});
    if (!rows.empty())
      result.balance = rows[0][0].as<int64_t>();
    result.entries = all_rows(
      session_.run(tx, entries_sql, pqxx::params{user_id, int64_t{limit}}),
      read_entry);
    return result;
  });
}

} // namespace reeve
