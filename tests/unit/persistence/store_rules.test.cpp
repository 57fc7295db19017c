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

SCENARIO("poison says how often") {
  CHECK(poison_message(1).find("died 1 time ") != std::string::npos);
  CHECK(poison_message(3).find("died 3 times") != std::string::npos);
}
