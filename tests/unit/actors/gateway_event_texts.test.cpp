// tests/unit/actors/gateway_event_texts.test.cpp -- one text for all watchers.
#define CAF_SUITE actors.gateway_event_texts

#include "actors/gateway/event_texts.hpp"

#include "actors/gateway/job_json.hpp"
#include "support/actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;

namespace {

struct fixture {
  event_texts uut;

  static job_ptr changed(int64_t seq, size_t bytes = 0) {
    auto result = test::make_job(seq);
    result.progress_message = std::string(bytes, 'x');
    return std::make_shared<const job>(std::move(result));
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("a change is written once, however many watch it") {
  auto first = changed(1);
  auto second = changed(2);
  auto text = uut.of(first);
  CHECK_EQ(*text, json_of(*first));
  CHECK_EQ(*uut.of(second), json_of(*second));
  CHECK_EQ(uut.of(first), text);
  CHECK_EQ(uut.written(), 2u);
  AND("another state of the same job is another text") {
    CHECK_NE(uut.of(changed(1)), text);
    CHECK_EQ(uut.written(), 3u);
  }
}

SCENARIO("only the newest texts are kept") {
  auto first = changed(0);
  uut.of(first);
  for (size_t i = 1; i < event_texts::max_texts; ++i)
    uut.of(changed(static_cast<int64_t>(i)));
  uut.of(first);
  CHECK_EQ(uut.written(), event_texts::max_texts);
  uut.of(changed(1'000));
  uut.of(first);
  CHECK_EQ(uut.written(), event_texts::max_texts + 2);
}

SCENARIO(
  "large texts push out the others, and are kept while they are newest") {
  auto small = changed(1);
  uut.of(small);
  auto large = changed(2, event_texts::max_bytes);
  uut.of(large);
  uut.of(large);
  CHECK_EQ(uut.written(), 2u);
  uut.of(small);
  CHECK_EQ(uut.written(), 3u);
  uut.of(large);
  CHECK_EQ(uut.written(), 4u);
}

SCENARIO("no job stays in memory for its text") {
  auto bundle = std::make_shared<std::vector<job>>(3, test::make_job(1));
  std::weak_ptr<std::vector<job>> watched = bundle;
  uut.of({bundle, &bundle->back()});
  bundle.reset();
  CHECK(watched.expired());
}

END_FIXTURE_SCOPE()
