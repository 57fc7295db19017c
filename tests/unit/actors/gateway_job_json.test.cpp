// tests/unit/actors/gateway_job_json.test.cpp -- the text is that of the tree.
#define CAF_SUITE actors.gateway_job_json

#include "actors/gateway/job_json.hpp"

#include "actors/gateway/json.hpp"
#include "actors/gateway/rfc3339.hpp"
#include "support/actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

const std::vector<std::string> hostile{
  "",
  "\"",
  "\\",
  "\n\r\t\b\f",
  std::string{"\0\x01\x1f\x7f", 4},
  "</script>\u2028\u2029",
  "\xea\xb0\x80\xeb\x82\x98 \xf0\x9f\x98\x80",
  "\xff\xc3\xed\xa0\x80",
  std::string(10'000, '"'),
};

job full_job(const std::string& text) {
  auto result = test::make_job(7, job_status::failed);
  result.type = text;
  result.target_id = text;
  result.user_id = text;
  result.payload = nlohmann::json{{"text", "x\n\"y\""}, {"n", {1, -2.5}}};
  result.result = nlohmann::json{1, nullptr, "z"};
  result.progress_percent = 42;
  result.progress_message = text;
  result.error_message = text;
  result.attempts = std::numeric_limits<uint32_t>::max();
  result.max_attempts = 100;
  result.unspent = {1, 2, 3};
  result.used = {std::numeric_limits<uint64_t>::max(), 5, 6};
  result.priority = -1'000;
  result.unique_key = text;
  result.trace.parent = text;
  result.reason = text;
  result.cancel_requested = true;
  result.version = std::numeric_limits<int64_t>::max();
  result.run_at = timestamp{1'771'000'000'123'456us};
  result.created_at = timestamp{-1us};
  result.updated_at = timestamp{253'402'300'799'999'999us};
  result.started_at = timestamp{0us};
  result.finished_at = timestamp{951'782'400'000'000us}; // a leap day
  return result;
}

std::string from_tree(const job& x) {
  return dump(to_json(x));
}

} // namespace

SCENARIO("a job's text is that of its tree") {
  GIVEN("jobs in every state with nothing in them") {
    THEN("they are spelled the same") {
      for (auto status :
           {job_status::pending, job_status::processing, job_status::completed,
            job_status::failed, job_status::cancelled}) {
        auto what = test::make_job(1, status);
        CHECK_EQ(json_of(what), from_tree(what));
      }
    }
  }
  GIVEN("jobs with hostile texts in all members") {
    THEN("they are spelled the same") {
      for (const auto& text : hostile)
        CHECK(json_of(full_job(text)) == from_tree(full_job(text)));
    }
  }
  GIVEN("jobs with random bytes in all members") {
    THEN("they are spelled the same") {
      std::minstd_rand random{11};
      for (int i = 0; i < 200; ++i) {
        std::string text;
        for (auto n = random() % 40; n > 0; --n)
          text += static_cast<char>(random() % 256);
        CHECK(json_of(full_job(text)) == from_tree(full_job(text)));
      }
    }
  }
}

SCENARIO("a payload is passed on as the store spells it") {
  GIVEN("a payload that nlohmann cannot read, with spaces") {
    auto what = test::make_job(1);
    auto before = from_tree(what);
    std::string payload = R"({"big": 1e400, "a": [1, 2]})";
    what.payload = json_text::from_text(payload);
    WHEN("the job is written behind another text") {
      std::string text = "data: ";
      write_json(text, what);
      THEN("it stands there unchanged, the rest around it") {
        auto place = before.find("\"payload\":{}") + 10;
        before.replace(place, 2, payload);
        CHECK_EQ(text, "data: " + before);
      }
    }
  }
}

SCENARIO("times have one spelling") {
  GIVEN("instants far apart") {
    THEN("each comes back as it was, to the millisecond") {
      std::minstd_rand random{5};
      for (int i = 0; i < 2'000; ++i) {
        std::chrono::milliseconds since{static_cast<int64_t>(random()) * 100'000
                                        + random() % 1'000};
        timestamp x{since};
        auto text = to_rfc3339(x);
        CHECK_EQ(text.size(), 24u);
        CHECK(from_rfc3339(text) == x);
      }
    }
  }
  GIVEN("known ones") {
    THEN("they are spelled in UTC with milliseconds") {
      CHECK_EQ(to_rfc3339(timestamp{0us}), "1970-01-01T00:00:00.000Z");
      CHECK_EQ(to_rfc3339(timestamp{-1us}), "1969-12-31T23:59:59.999Z");
      CHECK_EQ(to_rfc3339(timestamp{951'782'399'999'000us}),
               "2000-02-28T23:59:59.999Z");
      CHECK_EQ(to_rfc3339(timestamp{951'782'400'001'999us}),
               "2000-02-29T00:00:00.001Z");
    }
  }
  GIVEN("years of more than four digits") {
    THEN("they are still told apart") {
      CHECK_EQ(to_rfc3339(timestamp{253'402'300'800'000'000us}),
               "10000-01-01T00:00:00.000Z");
    }
  }
}
