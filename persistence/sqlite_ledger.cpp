// persistence/sqlite_ledger.cpp -- balances, and the lines they are sums of.
#include "persistence/books.hpp"
#include "persistence/sqlite_store.hpp"
#include "persistence/sqlite_writer.hpp"
#include "persistence/store_rules.hpp"

namespace reeve {

namespace {

constexpr const char* balance_sql =
  "SELECT balance FROM accounts WHERE user_id = ?";

constexpr const char* open_account_sql = R"(
  INSERT INTO accounts (user_id) VALUES (?) ON CONFLICT (user_id) DO NOTHING)";
constexpr const char* change_balance_sql =
  "UPDATE accounts SET balance = balance + ? WHERE user_id = ?";

constexpr const char* insert_line_sql = R"(
  INSERT INTO ledger (user_id, kind, amount, job_id, round, grant_id, note,
    created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?))";

constexpr const char* grant_user_sql =
  "SELECT user_id FROM ledger WHERE grant_id = ?";

constexpr const char* price_sql = R"(
  SELECT id, user_id, price FROM job WHERE seq = ? AND price > 0)";

// What was taken for a job and not given back, and how often it was taken.
constexpr const char* taken_sql = R"(
  SELECT coalesce(-sum(amount), 0), count(*) FILTER (WHERE kind = 'charge')
  FROM ledger WHERE job_id = ?)";

constexpr const char* lines_sql = R"(
  SELECT seq, user_id, kind, amount, job_id, note, created_at FROM ledger
  WHERE user_id = ? ORDER BY seq DESC LIMIT ?)";

int64_t balance_of(sqlite_connection& db, const std::string& user_id) {
  sqlite_query query{db.prepared(balance_sql)};
  return query.bind(user_id).next() ? query.integer(0) : 0;
}

} // namespace

int64_t sqlite_writer::balance_of(const std::string& user_id) {
  return reeve::balance_of(db_, user_id);
}

void sqlite_writer::book(const ledger_line& x) {
  {
    sqlite_query query{db_.prepared(open_account_sql)};
    query.bind(x.user_id).run();
  }
  {
    sqlite_query query{db_.prepared(change_balance_sql)};
    query.bind(x.amount, x.user_id).run();
  }
  sqlite_query query{db_.prepared(insert_line_sql)};
  query.bind(x.user_id, to_string(x.kind), x.amount, x.job_id, x.round,
             x.grant_id, x.note, now_);
  query.run();
}

std::optional<refusal> sqlite_writer::charge(const std::string& job_id,
                                             const std::string& user_id,
                                             int64_t price) {
  const auto [taken, rounds] = taken_for(job_id);
  if (taken > 0)
    return std::nullopt;
  const auto balance = balance_of(user_id);
  if (balance < price)
    return too_expensive(balance, price);
  ledger_line line;
  line.user_id = user_id;
  line.kind = ledger_kind::charge;
  line.amount = -price;
  line.job_id = job_id;
  line.round = rounds;
  book(line);
  return std::nullopt;
}

std::optional<refusal> sqlite_writer::charge_again(int64_t seq) {
  const auto x = priced(seq);
  return x ? charge(x->id, x->user_id, x->price) : std::nullopt;
}

void sqlite_writer::refund(int64_t seq) {
  const auto x = priced(seq);
  if (!x)
    return;
  const auto [taken, rounds] = taken_for(x->id);
  if (taken <= 0)
    return;
  ledger_line line;
  line.user_id = x->user_id;
  line.kind = ledger_kind::refund;
  line.amount = taken;
  line.job_id = x->id;
  line.round = rounds - 1;
  book(line);
}

std::optional<sqlite_writer::priced_job> sqlite_writer::priced(int64_t seq) {
  sqlite_query query{db_.prepared(price_sql)};
  if (!query.bind(seq).next())
    return std::nullopt;
  return priced_job{query.text(0), query.text(1), query.integer(2)};
}

std::pair<int64_t, int64_t> sqlite_writer::taken_for(
  const std::string& job_id) {
  sqlite_query query{db_.prepared(taken_sql)};
  query.bind(job_id).next();
  return {query.integer(0), query.integer(1)};
}

write_answer sqlite_writer::on(const grant_write& x, bool) {
  if (auto no = check(x))
    return *std::move(no);
  const auto id = lower_case(x.id);
  {
    // The same grant counts once, whoever asks again.
    sqlite_query query{db_.prepared(grant_user_sql)};
    if (query.bind(id).next())
      return granted{balance_of(query.text(0))};
  }
  if (auto no = check_balance(x.user_id, balance_of(x.user_id), x.amount))
    return *std::move(no);
  ledger_line line;
  line.user_id = x.user_id;
  line.kind = ledger_kind::grant;
  line.amount = x.amount;
  line.grant_id = id;
  line.note = x.note;
  book(line);
  return granted{balance_of(x.user_id)};
}

account sqlite_store::find_account(const std::string& user_id, uint32_t limit) {
  account result;
  result.user_id = user_id;
  translated([&] {
    auto& db = connection();
    // One snapshot for both questions.
    sqlite_transaction snapshot{db, "BEGIN"};
    result.balance = balance_of(db, user_id);
    sqlite_query query{db.prepared(lines_sql)};
    query.bind(user_id, limit);
    while (query.next())
      result.entries.push_back(
        {query.integer(0), query.text(1),
         ledger_kind_from(query.text(2)).value_or(ledger_kind::grant),
         query.integer(3), query.maybe_text(4), query.text(5), query.time(6)});
  });
  return result;
}

} // namespace reeve
