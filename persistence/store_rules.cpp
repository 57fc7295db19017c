// persistence/store_rules.cpp -- checks and decisions both stores share.
#include "persistence/store_rules.hpp"

#include "persistence/text.hpp"
#include "persistence/uuid.hpp"

#include <algorithm>
#include <cmath>

namespace reeve {

namespace {

using json = nlohmann::json;
using std::chrono::milliseconds;

refusal invalid(std::string message) {
  return {refusal_code::invalid_argument, std::move(message)};
}

constexpr std::string_view bad_text = "has U+0000 or is not valid UTF-8";

std::optional<std::string> unstorable(const json& value, size_t depth) {
  if (depth > max_json_depth)
    return "is nested deeper than " + std::to_string(max_json_depth)
      + " levels";
  switch (value.type()) {
    case json::value_t::string:
      if (!is_storable(value.get_ref<const std::string&>()))
        return std::string{bad_text};
      return std::nullopt;
    case json::value_t::number_float:
      if (!std::isfinite(value.get<double>()))
        return "has a number that is not finite";
      return std::nullopt;
    case json::value_t::binary:
    case json::value_t::discarded:
      return "is not JSON";
    case json::value_t::object:
      for (const auto& [key, member] : value.items()) {
        if (!is_storable(key))
          return std::string{bad_text};
        if (auto why = unstorable(member, depth + 1))
          return why;
      }
      return std::nullopt;
    case json::value_t::array:
      for (const auto& member : value)
        if (auto why = unstorable(member, depth + 1))
          return why;
      return std::nullopt;
    case json::value_t::null:
    case json::value_t::boolean:
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
      return std::nullopt;
  }
  return std::nullopt;
}

// An error has about 4,000 bytes at most; SQLite refuses longer patterns.
constexpr size_t max_pattern_bytes = 50'000;

bool is_pattern(std::string_view text) {
  size_t i = 0;
  for (; i < text.size(); ++i)
    if (text[i] == '\\')
      ++i;
  return i == text.size() && text.size() <= max_pattern_bytes;
}

// Collects the first problem of a write, so that checks read as a list.
class checker {
public:
  void text(std::string_view field, std::string_view value) {
    if (!is_storable(value))
      fail(field, bad_text);
  }

  void key(std::string_view field, std::string_view value) {
    if (value.empty())
      fail(field, "is empty");
    else if (value.size() > max_key_bytes)
      fail(field, "is longer than " + std::to_string(max_key_bytes) + " bytes");
    else
      text(field, value);
  }

  void json_value(std::string_view field, const json& value) {
    if (auto why = unstorable_json(value))
      fail(field, *why);
  }

  void uuid(std::string_view field, std::string_view value) {
    if (!is_uuid(value))
      fail(field, "is not a UUID");
  }

  template <class Check>
  void optional(Check check, std::string_view field,
                const std::optional<std::string>& value) {
    if (value)
      (this->*check)(field, *value);
  }

  void fail(std::string_view field, std::string_view why) {
    if (!problem)
      problem = invalid("`" + std::string{field} + "` " + std::string{why});
  }

  std::optional<refusal> problem;
};

void check_scrap(checker& checks, const scrap& x, std::string_view target) {
  checks.uuid("scrap.id", x.id);
  if (lower_case(x.id) != lower_case(target))
    checks.fail("target_id", "is not the id of the new scrap");
  checks.text("scrap.content", x.content);
  checks.optional(&checker::text, "scrap.title", x.title);
  checks.optional(&checker::text, "scrap.url", x.url);
  checks.optional(&checker::key, "scrap.user_id", x.user_id);
}

void check_card(checker& checks, const knowledge_card& x,
                std::string_view job_id) {
  checks.uuid("card.id", x.id);
  if (!is_uuid(x.job_id) || lower_case(x.job_id) != job_id)
    checks.fail("card.job_id", "is not the id of the job");
  checks.optional(&checker::key, "card.user_id", x.user_id);
  checks.text("card.summary", x.summary);
  checks.text("card.model", x.model);
  for (const auto& tag : x.tags)
    checks.text("card.tags", tag);
  for (auto value : x.embedding)
    if (!std::isfinite(value))
      checks.fail("card.embedding", "has a number that is not finite");
}

} // namespace

std::optional<std::string> unstorable_json(const json& value) {
  return unstorable(value, 0);
}

std::optional<refusal> check(const enqueue_write& x) {
  checker checks;
  checks.uuid("id", x.id);
  checks.key("type", x.type);
  checks.key("target_id", x.target_id);
  checks.optional(&checker::key, "user_id", x.user_id);
  checks.json_value("payload", x.payload);
  checks.optional(&checker::key, "unique_key", x.unique_key);
  checks.optional(&checker::key, "idempotency_key", x.idempotency_key);
  checks.optional(&checker::text, "idempotency_hash", x.idempotency_hash);
  if (x.max_attempts < 1 || x.max_attempts > 1'000'000)
    checks.fail("max_attempts", "is not within 1 and 1,000,000");
  if (x.run_at
      && (*x.run_at < earliest_timestamp || *x.run_at > latest_timestamp))
    checks.fail("run_at", "is not within the years 1 and 9999");
  if (x.new_scrap)
    check_scrap(checks, *x.new_scrap, x.target_id);
  return checks.problem;
}

std::optional<refusal> check(const settle_write& x) {
  if (x.decision != verdict::complete)
    return std::nullopt;
  checker checks;
  checks.json_value("result", x.result);
  if (x.card)
    check_card(checks, *x.card, x.claimed.id);
  return checks.problem;
}

std::optional<refusal> check(const lease_owner& x) {
  checker checks;
  checks.key("node", x.node);
  if (x.node.find('#') != std::string::npos)
    checks.fail("node", "has a `#`");
  return checks.problem;
}

bool can_match(const job_filter& x) {
  auto storable = [](const std::optional<std::string>& text) {
    return !text || is_storable(*text);
  };
  return storable(x.type) && storable(x.target_id) && storable(x.user_id)
    && storable(x.error_like) && (!x.error_like || is_pattern(*x.error_like));
}

std::string lower_case(std::string_view text) {
  std::string result{text};
  std::transform(result.begin(), result.end(), result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  });
  return result;
}

verdict effective_decision(verdict wanted, bool cancel_requested) {
  const auto puts_back =
    wanted == verdict::retry || wanted == verdict::retry_unspent;
  return puts_back && cancel_requested ? verdict::cancel : wanted;
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
