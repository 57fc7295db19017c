// persistence/postgres_rows.cpp -- rows to nouns.
#include "persistence/postgres_columns.hpp"

#include <algorithm>
#include <charconv>

namespace reeve {

namespace {

std::optional<timestamp> maybe_time(const pqxx::field& field) {
  if (field.is_null())
    return std::nullopt;
  return read_time(field);
}

// Reads digits off the front of `text`; none, or too many, is no number.
template <class T>
bool take_number(std::string_view& text, T& result) {
  const auto [end, err] =
    std::from_chars(text.data(), text.data() + text.size(), result);
  if (err != std::errc{})
    return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c))
    return false;
  text.remove_prefix(1);
  return true;
}

// `YYYY-MM-DD hh:mm:ss[.ffffff]+00`, the fraction without trailing zeros.
std::optional<timestamp> parse_instant(std::string_view text) {
  int year = 0;
  unsigned month = 0, day = 0;
  int hours = 0, minutes = 0, seconds = 0;
  if (!take_number(text, year) || !take(text, '-') || !take_number(text, month)
      || !take(text, '-') || !take_number(text, day) || !take(text, ' ')
      || !take_number(text, hours) || !take(text, ':')
      || !take_number(text, minutes) || !take(text, ':')
      || !take_number(text, seconds))
    return std::nullopt;
  int64_t micros = 0;
  if (take(text, '.')) {
    const auto digits = text.size();
    if (!take_number(text, micros))
      return std::nullopt;
    for (auto n = digits - text.size(); n < 6; ++n)
      micros *= 10;
  }
  const std::chrono::year_month_day date{
    std::chrono::year{year}, std::chrono::month{month}, std::chrono::day{day}};
  if (text != "+00" || !date.ok())
    return std::nullopt;
  return std::chrono::sys_days{date} + std::chrono::hours{hours}
  + std::chrono::minutes{minutes} + std::chrono::seconds{seconds}
  + std::chrono::microseconds{micros};
}

verdict verdict_from(std::string_view text) {
  for (auto x : {verdict::complete, verdict::retry, verdict::retry_unspent,
                 verdict::cancel})
    if (to_string(x) == text)
      return x;
  return verdict::fail;
}

// The elements of a one-dimensional array without NULLs.
template <class T>
std::vector<T> read_array(const pqxx::field& field) {
  const auto elements = field.as_sql_array<T>();
  return {elements.cbegin(), elements.cend()};
}

// What a job has after its claim from the runs before; empty: it had none.
void set_past(job& x, const std::vector<int64_t>& past) {
  if (past.empty()) {
    x.run = 1;
    x.attempts = 1;
    x.version = 2;
    return;
  }
  auto next = past.begin();
  const auto count = [&next] { return postgres_columns::count_from(*next++); };
  const auto amount = [&next] {
    return postgres_columns::amount_from(*next++);
  };
  x.run = *next++;
  x.attempts = count();
  x.unspent = {count(), count(), count()};
  x.version = *next++;
  x.used = {amount(), amount(), amount()};
}

// Whether it may hold a number with more digits than an integer of ours.
bool has_long_number(std::string_view text) {
  constexpr size_t most_digits = 17;
  size_t digits = 0;
  for (auto c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > most_digits)
      return true;
  }
  return false;
}

} // namespace

timestamp read_time(const pqxx::field& field) {
  const auto text = field.view();
  if (const auto result = parse_instant(text))
    return *result;
  return timestamp{std::chrono::microseconds{field.as<int64_t>()}};
}

int64_t micros(timestamp x) {
  return x.time_since_epoch().count();
}

nlohmann::json read_json(const pqxx::field& field) {
  if (field.is_null())
    return nullptr;
  auto result = nlohmann::json::parse(field.view(), nullptr, false);
  return result.is_discarded() ? nlohmann::json(nullptr) : result;
}

json_text read_json_text(const pqxx::field& field) {
  if (field.is_null())
    return {};
  auto text = std::string{field.view()};
  if (!has_long_number(text))
    return json_text::from_text(std::move(text));
  // PostgreSQL writes 1e300 with all its zeros: a whole number to others.
  auto value = nlohmann::json::parse(text, nullptr, false);
  if (value.is_discarded())
    return json_text::from_text(std::move(text));
  return value;
}

std::vector<std::string> read_texts(const pqxx::field& field) {
  return read_array<std::string>(field);
}

std::vector<int64_t> read_integers(const pqxx::field& field) {
  return read_array<int64_t>(field);
}

std::optional<std::string> read_text(const pqxx::field& field) {
  return field.as<std::optional<std::string>>();
}

job read_job(const pqxx::row& row) {
  job result;
  postgres_columns next{row};
  result.seq = next.number<int64_t>();
  result.id = next.text();
  result.type = next.text();
  result.status = job_status_from(next.view()).value_or(job_status::failed);
  result.target_id = next.text();
  result.user_id = next.maybe_text();
  result.payload = next.json();
  result.result = next.json();
  result.progress_percent = next.number<int>();
  result.progress_message = next.text();
  result.error_message = next.maybe_text();
  result.attempts = next.count();
  result.max_attempts = next.count();
  result.priority = next.number<int32_t>();
  result.unique_key = next.maybe_text();
  result.run_at = next.time();
  result.reason = next.text();
  result.cancel_requested = next.flag();
  result.unspent = next.unspent();
  result.version = next.number<int64_t>();
  result.run = next.number<int64_t>();
  result.created_at = next.time();
  result.started_at = next.maybe_time();
  result.finished_at = next.maybe_time();
  result.updated_at = next.time();
  result.used = next.used();
  result.trace = {next.text(), next.text()};
  return result;
}

job read_claimed(const pqxx::row& row, timestamp now) {
  job result;
  postgres_columns next{row};
  result.seq = next.number<int64_t>();
  result.id = next.text();
  result.type = next.text();
  result.status = job_status::processing;
  result.target_id = next.text();
  result.user_id = next.maybe_text();
  result.payload = next.json();
  result.error_message = next.maybe_text();
  result.max_attempts = next.count();
  result.priority = next.number<int32_t>();
  result.unique_key = next.maybe_text();
  const auto run_at = next.maybe_time();
  result.created_at = next.time();
  result.run_at = run_at.value_or(result.created_at);
  result.trace = {next.text(), next.text()};
  set_past(result, next.integers());
  result.started_at = now;
  result.updated_at = now;
  return result;
}

attempt read_attempt(const pqxx::row& row) {
  attempt result;
  result.run = row[0].as<int64_t>();
  result.node = row[1].as<std::string>();
  result.started_at = read_time(row[2]);
  result.finished_at = read_time(row[3]);
  result.outcome =
    run_outcome_from(row[4].view()).value_or(run_outcome::failed);
  result.error = row[5].as<std::string>();
  result.decision = verdict_from(row[6].view());
  result.why = row[7].as<std::string>();
  result.next_run_at = maybe_time(row[8]);
  return result;
}

scrap read_scrap(const pqxx::row& row) {
  scrap result;
  result.id = row[0].as<std::string>();
  result.content = row[1].as<std::string>();
  result.title = read_text(row[2]);
  result.url = read_text(row[3]);
  result.user_id = read_text(row[4]);
  result.created_at = read_time(row[5]);
  return result;
}

knowledge_card read_card(const pqxx::row& row) {
  knowledge_card result;
  result.id = row[0].as<std::string>();
  result.scrap_id = row[1].as<std::string>();
  result.job_id = row[2].as<std::string>();
  result.user_id = read_text(row[3]);
  result.summary = row[4].as<std::string>();
  result.tags = read_array<std::string>(row[5]);
  result.embedding = read_array<float>(row[6]);
  result.model = row[7].as<std::string>();
  result.created_at = read_time(row[8]);
  return result;
}

} // namespace reeve
