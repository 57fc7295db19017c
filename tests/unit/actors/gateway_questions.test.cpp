// tests/unit/actors/gateway_questions.test.cpp -- deadlines on a virtual clock.
#define CAF_SUITE actors.gateway_questions

#include "actors/gateway/questions.hpp"

#include "support/actor_fixture.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/test/bdd_dsl.hpp>

#include <string>
#include <vector>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

struct fixture : test::actor_fixture {
  caf::actor asker;
  caf::event_based_actor* self;
  std::vector<std::string> late;

  fixture() {
    asker = adopt(sys.spawn([](caf::event_based_actor* self) -> caf::behavior {
      return {[self](int) { self->quit(); }};
    }));
    settle();
    self = &deref<caf::event_based_actor>(asker);
  }

  question_ptr ask(std::string name) {
    return questions::of(self)->add(
      10s, [this, name = std::move(name)](caf::error& err) {
        late.push_back(name + ' ' + to_string(err.code()));
      });
  }

  static std::string to_string(uint8_t code) {
    return code == static_cast<uint8_t>(caf::sec::request_timeout) ? "timeout"
                                                                   : "other";
  }

  // Timers that wait for their time.
  size_t timers() {
    return static_cast<caf::detail::test_actor_clock&>(sys.clock())
      .schedule.size();
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("a question that is not answered is given up at its deadline") {
  GIVEN("three questions, a second apart") {
    auto first = ask("a");
    pass(1s);
    auto second = ask("b");
    pass(1s);
    auto third = ask("c");
    WHEN("the second is answered and the deadlines pass") {
      CHECK(second->end());
      pass(7s);
      CHECK(late.empty());
      pass(1s);
      THEN("each of the others is given up in its turn, once") {
        CHECK_EQ(late, std::vector<std::string>{"a timeout"});
        CHECK(!first->end());
        pass(1s);
        CHECK_EQ(late.size(), 1u);
        pass(1s);
        CHECK_EQ(late, (std::vector<std::string>{"a timeout", "c timeout"}));
        pass(60s);
        CHECK_EQ(late.size(), 2u);
      }
    }
  }
}

SCENARIO("an answered question leaves nothing behind") {
  GIVEN("ten thousand questions, each answered at once") {
    for (int i = 0; i < 10'000; ++i)
      CHECK(ask("x")->end());
    THEN("one timer waits for all of them") {
      CHECK_EQ(timers(), 1u);
      pass(10s);
      CHECK_EQ(timers(), 0u);
      CHECK(late.empty());
    }
  }
  GIVEN("a question whose answer holds something") {
    auto held = std::make_shared<int>(1);
    auto open = questions::of(self)->add(10s, [held](caf::error&) {});
    WHEN("it is answered") {
      CHECK(open->end());
      THEN("that is let go of at once, and a second end is none") {
        CHECK_EQ(held.use_count(), 1);
        CHECK(!open->end());
      }
    }
  }
}

SCENARIO("questions go with the one who asked") {
  GIVEN("an open question") {
    auto held = std::make_shared<int>(1);
    questions::of(self)->add(10s, [held](caf::error&) {});
    WHEN("the asker ends") {
      caf::anon_send(asker, 1);
      settle();
      THEN("it is let go of, and its deadline means nothing") {
        CHECK_EQ(held.use_count(), 1);
        pass(60s);
        CHECK_EQ(held.use_count(), 1);
      }
    }
  }
}

SCENARIO("a question may be asked while another is given up") {
  GIVEN("one that asks again at its deadline") {
    questions::of(self)->add(10s, [this](caf::error&) { ask("again"); });
    WHEN("both deadlines pass") {
      pass(10s);
      CHECK(late.empty());
      pass(10s);
      THEN("the second is given up too") {
        CHECK_EQ(late, std::vector<std::string>{"again timeout"});
      }
    }
  }
}

END_FIXTURE_SCOPE()
