// tests/unit/persistence/store_rules.test.cpp -- what both stores refuse and
// decide.
#define CAF_SUITE persistence.store_rules

#include "persistence/store_rules.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <limits>

using namespace reeve;
using namespace std::literals;
using json = nlohmann::json;

namespace {

json nested(size_t depth) {
  json result = 1;
  for (size_t i = 0; i < depth; ++i)
    result = json::array({result});
  return result;
}

} // namespace

SCENARIO("JSON that one of the stores would change or refuse is found") {
  for (const auto& x :
       {json{}, json{{"a", {1, 2.5, "text", nullptr}}}, nested(100),
        json(std::numeric_limits<uint64_t>::max()), json(-0.0), json("")})
    CHECK(!unstorable_json(x));
  for (const auto& x :
       {json("a\0b"s), json("\xff"), json{{"key\0"s, 1}}, json{{"\xc3", 1}},
        json{{"a", {{"b", {"\xed\xa0\x80"}}}}},
        json(std::numeric_limits<double>::infinity()),
        json::array({std::numeric_limits<double>::quiet_NaN()}),
        json::binary({1, 2}), json(json::value_t::discarded), nested(200)})
    CHECK(unstorable_json(x).has_value());
}

SCENARIO("delays saturate") {
  const timestamp now{1'700'000'000s};
  CHECK(later(now, 0ms) == now);
  CHECK(later(now, -5ms) == now);
  CHECK(later(now, std::chrono::milliseconds::min()) == now);
  CHECK(later(now, 1'500ms) == now + 1'500ms);
  CHECK(later(now, std::chrono::milliseconds::max()) == latest_timestamp);
  CHECK(later(latest_timestamp, 1ms) == latest_timestamp);
}

SCENARIO("waits are rounded up, never below zero") {
  const timestamp now{1'700'000'000s};
  CHECK(until(now, now) == 0ms);
  CHECK(until(now, now - 1h) == 0ms);
  CHECK(until(now, timestamp::min()) == 0ms);
  CHECK(until(now, now + 1us) == 1ms);
  CHECK(until(now, now + 1'000us) == 1ms);
  CHECK(until(now, now + 1'001us) == 2ms);
}

SCENARIO("a cancel request turns what would go back into a cancellation") {
  for (auto x : {verdict::retry, verdict::retry_unspent}) {
    CHECK(effective_decision(x, true) == verdict::cancel);
    CHECK(effective_decision(x, false) == x);
  }
  for (auto x : {verdict::complete, verdict::fail, verdict::cancel})
    CHECK(effective_decision(x, true) == x);
}

SCENARIO("a pattern that ends in half an escape matches nothing") {
  auto matches = [](std::string pattern) {
    job_filter x;
    x.error_like = std::move(pattern);
    return can_match(x);
  };
  for (auto x : {"", "%", "\\%", "\\\\", "a\\\\\\_"})
    CHECK(matches(x));
  for (auto x : {"\\", "a\\", "\\\\\\", "%\xff"})
    CHECK(!matches(x));
  CHECK(!matches("a\0b"s));
  CHECK(!matches(std::string(60'000, '%')));
}

SCENARIO("a node's name has no #") {
  CHECK(!check(lease_owner{"node", 1}));
  CHECK(check(lease_owner{"", 1}).has_value());
  CHECK(check(lease_owner{"a#b", 1}).has_value());
  CHECK(check(lease_owner{"a\0b"s, 1}).has_value());
}

SCENARIO("keys are as long as an index takes") {
  enqueue_write x;
  x.id = "01890a5d-ac96-774b-bcce-b302099a8057";
  x.type = "T";
  x.target_id = std::string(max_key_bytes, 'x');
  CHECK(!check(x));
  x.target_id += 'x';
  CHECK(check(x).has_value());
}

SCENARIO("a day is one that the calendar has") {
  for (auto x : {"2024-02-29", "0001-01-01", "9999-12-31", "2023-10-09"})
    CHECK(is_date(x));
  for (auto x : {"", "2023-02-29", "2023-13-01", "2023-00-10", "2023-01-32",
                 "2023-01-00", "0000-01-01", "2023-1-01", "2023-01-1",
                 "2023/01/01", "2023-01-01 ", "-023-01-01", "20x3-01-01",
                 "2023-01-0\xff", "2023-01-01T00:00:00Z"})
    CHECK(!is_date(x));
}

SCENARIO("a price has a payer and a limit") {
  enqueue_write x;
  x.id = "01890a5d-ac96-774b-bcce-b302099a8057";
  x.type = "T";
  x.target_id = "target";
  x.price = 1;
  CHECK(check(x).has_value());
  x.user_id = "user";
  CHECK(!check(x));
  x.price = max_amount;
  CHECK(!check(x));
  x.price = max_amount + 1;
  CHECK(check(x).has_value());
  x.price = -1;
  CHECK(check(x).has_value());
}

SCENARIO("balances stay between zero and what a store keeps") {
  CHECK(!check_balance("user", 0, 5));
  CHECK(!check_balance("user", 5, -5));
  CHECK(!check_balance("user", max_amount - 1, 1));
  auto no = check_balance("user", 4, -5);
  REQUIRE(no.has_value());
  CHECK(no->code == refusal_code::insufficient_funds);
  CHECK(no->message.find("is 4") != std::string::npos);
  no = check_balance("user", max_amount, 1);
  REQUIRE(no.has_value());
  CHECK(no->code == refusal_code::invalid_argument);
  auto expensive = too_expensive(3, 7);
  CHECK(expensive.code == refusal_code::insufficient_funds);
  CHECK(expensive.message.find('3') != std::string::npos);
  CHECK(expensive.message.find('7') != std::string::npos);
}

SCENARIO("use is sorted by tokens, images and key") {
  std::vector<usage_row> rows{{"b", 1, 1, {1, 1, 0}},
                              {"a", 1, 1, {1, 1, 0}},
                              {"c", 1, 1, {2, 0, 5}},
                              {"d", 1, 1, {0, 9, 0}}};
  sort_usage(rows);
  std::string keys;
  for (const auto& x : rows)
    keys += x.key;
  CHECK_EQ(keys, "dcab");
}

SCENARIO("a summary, a pause and a claim are checked by field") {
  summary_write summary;
  summary.what.id = "01890a5d-ac96-774b-bcce-b302099a8057";
  summary.what.date = "2024-02-29";
  summary.what.time_zone = "Asia/Seoul";
  summary.what.day_start = timestamp{1'700'000'000s};
  summary.what.day_end = summary.what.day_start + 24h;
  CHECK(!check(summary));
  auto bad = summary;
  bad.what.day_end = bad.what.day_start;
  CHECK(check(bad).has_value());
  bad = summary;
  bad.what.time_zone = "";
  CHECK(check(bad).has_value());
  bad = summary;
  bad.what.day_start = timestamp::min();
  CHECK(check(bad).has_value());
  CHECK(!check(pause_write{"T", true, ""}));
  CHECK(check(pause_write{"", true, ""}).has_value());
  CHECK(check(pause_write{"T", true, "\xff"}).has_value());
  claim_write claim;
  claim.owner = {"node", 1};
  CHECK(!check(claim));
  claim.types = {{"a\0b"s, 1}};
  CHECK(check(claim).has_value());
}

SCENARIO("failures are matched by what a store can keep") {
  failure_filter x;
  CHECK(can_match(x));
  x.error_like = "%503%";
  CHECK(can_match(x));
  x.error_like = "half an escape\\";
  CHECK(!can_match(x));
  x.error_like = std::nullopt;
  x.fingerprint = "\xff";
  CHECK(!can_match(x));
}

SCENARIO("poison says how often") {
  CHECK(poison_message(1).find("died 1 time ") != std::string::npos);
  CHECK(poison_message(3).find("died 3 times") != std::string::npos);
}
