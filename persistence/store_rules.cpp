// persistence/store_rules.cpp -- decisions and texts both stores share.
#include "persistence/store_rules.hpp"

#include "persistence/text.hpp"
#include "persistence/uuid.hpp"

#include <algorithm>
#include <cmath>

namespace reeve {

namespace {

using std::chrono::milliseconds;

// An error has about 4,000 bytes at most; SQLite refuses longer patterns.
constexpr size_t max_pattern_bytes = 50'000;

bool is_pattern(std::string_view text) {
  size_t i = 0;
  for (; i < text.size(); ++i)
    if (text[i] == '\\')
      ++i;
  return i == text.size() && text.size() <= max_pattern_bytes;
}

bool storable(const std::optional<std::string>& text) {
  return !text || is_storable(*text);
}

bool is_possible_pattern(const std::optional<std::string>& text) {
  return storable(text) && (!text || is_pattern(*text));
}

} // namespace

bool can_match(const job_filter& x) {
  return storable(x.type) && storable(x.target_id) && storable(x.user_id)
    && is_possible_pattern(x.error_like);
}

bool can_match(const failure_filter& x) {
  return storable(x.type) && storable(x.fingerprint)
    && is_possible_pattern(x.error_like);
}

std::optional<std::string> text_or_null(std::string_view text) {
  if (text.empty())
    return std::nullopt;
  return std::string{text};
}

std::string lower_case(std::string_view text) {
  std::string result{text};
  std::transform(result.begin(), result.end(), result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  });
  return result;
}

verdict effective_decision(verdict wanted, bool cancel_requested) {
  return puts_back(wanted) && cancel_requested ? verdict::cancel : wanted;
}

bool puts_back(verdict decision) {
  return decision == verdict::retry || decision == verdict::retry_unspent;
}

bool is_plain(const settle_write& x) {
  return x.decision == verdict::complete && x.effects.empty();
}

std::string_view waiting_reason(run_outcome outcome) {
  switch (outcome) {
    case run_outcome::throttled:
    case run_outcome::provider_down:
    case run_outcome::interrupted:
    case run_outcome::snoozed:
      return to_string(outcome);
    case run_outcome::completed:
    case run_outcome::failed:
    case run_outcome::failed_permanently:
    case run_outcome::timed_out:
    case run_outcome::lost:
    case run_outcome::cancelled:
      return "retry";
  }
  return "retry";
}

void count_unspent(unspent_counts& counts, run_outcome outcome) {
  if (outcome == run_outcome::throttled)
    ++counts.throttled;
  else if (outcome == run_outcome::provider_down)
    ++counts.provider_down;
  else if (outcome == run_outcome::interrupted)
    ++counts.interrupted;
}

void sort_usage(std::vector<usage_row>& rows) {
  auto tokens = [](const usage_row& x) {
    return x.used.input_tokens + x.used.output_tokens;
  };
  std::ranges::sort(rows, [&](const usage_row& a, const usage_row& b) {
    if (tokens(a) != tokens(b))
      return tokens(a) > tokens(b);
    if (a.used.images != b.used.images)
      return a.used.images > b.used.images;
    return a.key < b.key;
  });
}

timestamp later(timestamp start, milliseconds delay) {
  if (delay.count() <= 0)
    return start;
  const auto room = std::chrono::floor<milliseconds>(latest_timestamp - start);
  return delay >= room ? latest_timestamp : start + delay;
}

milliseconds until(timestamp now, timestamp due) {
  if (due <= now)
    return milliseconds{0};
  return std::chrono::ceil<milliseconds>(due - now);
}

std::string lost_message(std::string_view node) {
  return "node " + std::string{node} + " died while it ran the job";
}

std::string poison_message(int64_t deaths) {
  return "the job's node died " + std::to_string(deaths)
    + (deaths == 1 ? " time" : " times")
    + " while it ran the job; no attempt is left";
}

std::string lost_why(uint32_t attempts, uint32_t max_attempts) {
  return "attempt " + std::to_string(attempts) + " of "
    + std::to_string(max_attempts) + " lost";
}

refusal key_is_held() {
  return {refusal_code::conflict,
          "another unfinished job has the same unique key"};
}

refusal too_expensive(int64_t balance, int64_t price) {
  return {refusal_code::insufficient_funds,
          "the balance is " + std::to_string(balance) + " and the price is "
            + std::to_string(price)};
}

refusal target_is_gone() {
  return {refusal_code::not_found, std::string{target_gone_message}};
}

refusal no_such(std::string_view what, std::string_view id) {
  return {refusal_code::not_found,
          "no " + std::string{what} + " has the id "
            + sanitized(id.substr(0, 64))};
}

refusal lease_is_lost(int64_t seq, int64_t run) {
  return {refusal_code::lease_lost,
          "run " + std::to_string(run) + " of job " + std::to_string(seq)
            + " no longer owns the job"};
}

refusal wrong_state(job_status status, std::string_view past_participle) {
  return {refusal_code::conflict,
          "a " + std::string{to_string(status)} + " job cannot be "
            + std::string{past_participle}};
}

} // namespace reeve
