// persistence/store_checks.cpp -- what both stores refuse without a look.
#include "persistence/store_rules.hpp"

#include "persistence/text.hpp"
#include "persistence/uuid.hpp"

#include <algorithm>
#include <cmath>

namespace reeve {

namespace {

using json = nlohmann::json;

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

void check_content(checker& checks, const content& x,
                   const enqueue_write& owner) {
  checks.uuid("content.id", x.id);
  if (lower_case(x.id) != lower_case(owner.target_id))
    checks.fail("target_id", "is not the id of the new content");
  if (lower_case(x.job_id) != lower_case(owner.id))
    checks.fail("content.job_id", "is not the id of the job");
  checks.optional(&checker::key, "content.user_id", x.user_id);
  checks.text("content.title", x.title);
  checks.text("content.prompt", x.prompt);
  if (x.page_count < 0 || static_cast<size_t>(x.page_count) > max_book_pages)
    checks.fail("content.page_count", "is not within 0 and 1,000");
}

void check_price(checker& checks, const enqueue_write& x) {
  if (x.price < 0 || x.price > max_amount)
    checks.fail("price", "is not within 0 and 10^15");
  if (x.price > 0 && !x.user_id)
    checks.fail("user_id", "is missing: nobody would pay the price");
}

// -- effects ------------------------------------------------------------------

// Checks what one effect has, whose job is known (`settle`) or not (`step`).
class effect_checker {
public:
  effect_checker(checker& checks, std::string_view job_id)
    : checks_(checks), job_id_(job_id) {
    // nop
  }

  void operator()(const knowledge_card& x) {
    checks_.uuid("card.id", x.id);
    job("card.job_id", x.job_id);
    checks_.optional(&checker::key, "card.user_id", x.user_id);
    checks_.text("card.summary", x.summary);
    checks_.text("card.model", x.model);
    for (const auto& tag : x.tags)
      checks_.text("card.tags", tag);
    for (auto value : x.embedding)
      if (!std::isfinite(value))
        checks_.fail("card.embedding", "has a number that is not finite");
  }

  void operator()(const til_entry& x) {
    checks_.uuid("til.id", x.id);
    job("til.job_id", x.job_id);
    checks_.optional(&checker::key, "til.user_id", x.user_id);
    checks_.text("til.content", x.content);
    checks_.text("til.model", x.model);
    for (const auto& id : x.card_ids)
      checks_.text("til.card_ids", id);
  }

  void operator()(const recall_entry& x) {
    checks_.uuid("recall.id", x.id);
    job("recall.job_id", x.job_id);
    checks_.optional(&checker::key, "recall.user_id", x.user_id);
    checks_.text("recall.content", x.content);
    checks_.text("recall.model", x.model);
    for (const auto& card : x.related) {
      checks_.text("recall.related", card.card_id);
      if (!std::isfinite(card.similarity))
        checks_.fail("recall.related", "has a number that is not finite");
    }
  }

  void operator()(const book_pages& x) {
    if (x.texts.size() > max_book_pages)
      checks_.fail("pages.texts", "are more than 1,000");
    for (const auto& text : x.texts)
      checks_.text("pages.texts", text);
  }

  void operator()(const page_image& x) {
    if (x.number < 1)
      checks_.fail("image.number", "is smaller than 1");
    checks_.key("image.content_type", x.info.content_type);
    checks_.text("image.model", x.info.model);
    if (x.info.digest.size() != 64
        || x.info.digest.find_first_not_of("0123456789abcdef")
          != std::string::npos)
      checks_.fail("image.digest", "is not a SHA-256 in hexadecimal digits");
    if (!x.data)
      checks_.fail("image.data", "is missing");
  }

private:
  void job(std::string_view field, std::string_view id) {
    if (!is_uuid(id))
      checks_.fail(field, "is not a UUID");
    else if (!job_id_.empty() && lower_case(id) != job_id_)
      checks_.fail(field, "is not the id of the job");
  }

  checker& checks_;
  std::string_view job_id_;
};

void check_effects(checker& checks, const std::vector<effect>& effects,
                   std::string_view job_id) {
  for (const auto& x : effects)
    std::visit(effect_checker{checks, job_id}, x);
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
  if (x.trace != trace_context{}
      && read_trace(x.trace.parent, x.trace.state) != x.trace)
    checks.fail("trace", "is not valid");
  if (x.max_attempts < 1 || x.max_attempts > 1'000'000)
    checks.fail("max_attempts", "is not within 1 and 1,000,000");
  if (x.priority < -max_priority || x.priority > max_priority)
    checks.fail("priority", "is not within -1,000 and 1,000");
  if (x.run_at
      && (*x.run_at < earliest_timestamp || *x.run_at > latest_timestamp))
    checks.fail("run_at", "is not within the years 1 and 9999");
  if (x.new_scrap)
    check_scrap(checks, *x.new_scrap, x.target_id);
  if (x.new_content)
    check_content(checks, *x.new_content, x);
  check_price(checks, x);
  return checks.problem;
}

std::optional<refusal> check(const settle_write& x) {
  if (x.decision != verdict::complete)
    return std::nullopt;
  checker checks;
  checks.json_value("result", x.result);
  check_effects(checks, x.effects, x.claimed->id);
  return checks.problem;
}

std::optional<refusal> check(const step_write& x) {
  checker checks;
  checks.key("step.name", x.step.name);
  checks.key("step.input_hash", x.step.input_hash);
  checks.json_value("step.result", x.step.result);
  checks.text("step.provider", x.step.provider);
  checks.text("step.model", x.step.model);
  for (auto count : {x.step.used.input_tokens, x.step.used.output_tokens,
                     x.step.used.images})
    if (count > static_cast<uint64_t>(max_amount))
      checks.fail("step.used", "is larger than 10^15");
  check_effects(checks, x.effects, "");
  return checks.problem;
}

std::optional<refusal> check(const lease_owner& x) {
  checker checks;
  checks.key("node", x.node);
  if (x.node.find('#') != std::string::npos)
    checks.fail("node", "has a `#`");
  return checks.problem;
}

std::optional<refusal> check(const claim_write& x) {
  if (auto no = check(x.owner))
    return no;
  checker checks;
  for (const auto& wanted : x.types)
    checks.key("types", wanted.type);
  return checks.problem;
}

std::optional<refusal> check(const prune_write& x) {
  checker checks;
  checks.key("type", x.type);
  return checks.problem;
}

std::optional<refusal> check(const pause_write& x) {
  checker checks;
  checks.key("type", x.type);
  checks.text("reason", x.reason);
  return checks.problem;
}

std::optional<refusal> check(const summary_write& x) {
  checker checks;
  checks.uuid("id", x.what.id);
  checks.optional(&checker::key, "user_id", x.what.user_id);
  if (!is_date(x.what.date))
    checks.fail("date", "is not a day as YYYY-MM-DD");
  checks.key("time_zone", x.what.time_zone);
  if (x.what.day_start < earliest_timestamp || x.what.day_end > latest_timestamp
      || x.what.day_start >= x.what.day_end)
    checks.fail("day_start", "is not before `day_end`");
  return checks.problem;
}

std::optional<refusal> check(const grant_write& x) {
  checker checks;
  checks.uuid("id", x.id);
  checks.key("user_id", x.user_id);
  checks.text("note", x.note);
  if (x.amount == 0 || x.amount > max_amount || x.amount < -max_amount)
    checks.fail("amount", "is 0 or not within -10^15 and 10^15");
  return checks.problem;
}

std::optional<refusal> check_balance(std::string_view user_id, int64_t balance,
                                     int64_t amount) {
  if (amount < 0 && balance < -amount)
    return refusal{refusal_code::insufficient_funds,
                   "the balance of " + std::string{user_id} + " is "
                     + std::to_string(balance) + "; " + std::to_string(-amount)
                     + " cannot be taken off"};
  if (amount > 0 && balance > max_amount - amount)
    return invalid("the balance of " + std::string{user_id}
                   + " would exceed 10^15");
  return std::nullopt;
}

bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-')
    return false;
  auto number = [text](size_t start, size_t size) {
    unsigned result = 0;
    for (auto c : text.substr(start, size))
      result = c >= '0' && c <= '9' && result < 10'000
        ? result * 10 + static_cast<unsigned>(c - '0')
        : 100'000;
    return result;
  };
  const auto year = number(0, 4);
  return year >= 1 && year <= 9999
    && std::chrono::year_month_day{std::chrono::year(static_cast<int>(year)),
                                   std::chrono::month(number(5, 2)),
                                   std::chrono::day(number(8, 2))}
         .ok();
}

} // namespace reeve
