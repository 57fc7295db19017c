// tests/unit/actors/db_actor_claimer.test.cpp -- claims of many jobs have a
// connection of their own.
#define CAF_SUITE actors.db_actor_claimer

#include "db_actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <deque>

using namespace reeve;
using namespace reeve::test;
using namespace std::chrono_literals;

namespace {

constexpr uint32_t many = 64;

struct fixture : db_fixture {
  size_t connections = 0;
  bool refuses_connections = false;
  claimer_actor claimer;

  fixture() {
    db_actor_options options;
    options.make_claimer = [this] {
      claimer = adopt(sys.spawn<claimer_impl>([this] {
        if (refuses_connections)
          throw store_unavailable("too many connections");
        ++connections;
        return std::make_unique<fake_store>(db);
      }));
      return claimer;
    };
    start(options);
  }

  void add_jobs(int count) {
    for (auto i = 0; i < count; ++i)
      enqueue(next_job++);
    settle();
    db->batches.clear();
    published->clear();
  }

  size_t running() const {
    return static_cast<size_t>(
      std::ranges::count_if(db->jobs, [](const auto& entry) {
        return entry.second.status == job_status::processing;
      }));
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("a claim of many jobs is no part of what is committed meanwhile") {
  add_jobs(100);
  auto got = claim(1, many);
  auto added = enqueue(1);
  settle();
  REQUIRE(got->value.has_value());
  CHECK_EQ(got->value->jobs.size(), many);
  CHECK(added->value.has_value());
  CHECK(batch_sizes() == (sizes{1, 1}));
  CHECK_EQ(connections, 1u);
  AND("its connection is kept for the next one") {
    claim(2, many);
    settle();
    CHECK_EQ(connections, 1u);
    CHECK_EQ(running(), 101u);
  }
}

SCENARIO("other claims share the transaction of what comes with them") {
  add_jobs(100);
  auto added = enqueue(1);
  WHEN("it is for few jobs") {
    claim(1, many - 1);
  }
  WHEN("it may have been committed before") {
    claim(2, many, true);
  }
  WHEN("a type has a limit over all nodes") {
    ask<claimed>(
      uut, claim_write{{"node", 1}, {{"CARD_ANALYSIS", many, 5}}, many, 30s, 3},
      false);
  }
  settle();
  CHECK(added->value.has_value());
  CHECK(batch_sizes() == sizes{4});
  CHECK_EQ(connections, 0u);
}

SCENARIO("a claim that fails beside is made here, after a look for it") {
  add_jobs(100);
  WHEN("there are no connections left") {
    refuses_connections = true;
    auto got = claim(1, many);
    settle();
    REQUIRE(got->value.has_value());
    CHECK_EQ(got->value->jobs.size(), many);
    REQUIRE_EQ(db->batches.size(), 1u);
    CHECK(db->batches[0][0].repeated);
    CHECK_EQ(running(), many);
    AND("the tree tells why") {
      const auto shown = status();
      REQUIRE_EQ(shown.children.size(), 1u);
      CHECK_EQ(shown.children[0].name, "claimer");
      CHECK_NE(shown.children[0].last_error.find("too many connections"),
               std::string::npos);
    }
  }
}

SCENARIO("no claim takes jobs twice because its connection was lost") {
  add_jobs(300);
  // A connection that was good is tried once more, beside.
  claim(9, many);
  settle();
  for (auto how : {fault::before_commit, fault::after_commit}) {
    const auto before = running();
    db->apply_faults = {{db->batches.size() + 1, how}};
    auto got = claim(how == fault::before_commit ? 1 : 2, many);
    settle();
    REQUIRE(got->value.has_value());
    CHECK_EQ(got->value->jobs.size(), many);
    CHECK_EQ(running(), before + many);
    CHECK(status().children[0].last_error.empty());
  }
}

SCENARIO("a claimer that failed is left alone for a while") {
  add_jobs(300);
  refuses_connections = true;
  claim(1, many);
  settle();
  refuses_connections = false;
  claim(2, many);
  settle();
  CHECK_EQ(connections, 0u);
  CHECK_EQ(running(), 2 * many);
  pass(5s);
  claim(3, many);
  settle();
  CHECK_EQ(connections, 1u);
  CHECK_EQ(running(), 3 * many);
}

SCENARIO("the death of the claimer costs one look") {
  add_jobs(200);
  claim(1, many);
  settle();
  const auto first = claimer;
  kill(first);
  settle();
  pass(5s);
  auto got = claim(2, many);
  settle();
  CHECK(got->value.has_value());
  CHECK(claimer != first);
  CHECK_EQ(running(), 2 * many);
}

SCENARIO("the repeat of a claim that is under way goes behind it") {
  add_jobs(100);
  constexpr int64_t fail_oldest = 0;
  std::vector<bool> asked;
  std::deque<caf::typed_response_promise<claimed>> open;
  db_actor_options options;
  options.make_claimer = [&] {
    auto hold = [&](claimer_actor::pointer self) {
      return claimer_actor::behavior_type{
        [&, self](const claim_write& x, bool repeated) -> caf::result<claimed> {
          if (x.token == fail_oldest) {
            open.front().deliver(caf::make_error(ec::store_unavailable));
            open.pop_front();
            return claimed{};
          }
          asked.push_back(repeated);
          open.push_back(self->make_response_promise<claimed>());
          return open.back();
        },
      };
    };
    claimer = adopt(sys.spawn(hold));
    return claimer;
  };
  start(options);
  auto fail = [&] {
    ask<claimed>(claimer, claim_write{{"node", 1}, {}, 1, 30s, fail_oldest},
                 false);
    settle();
  };
  auto first = claim(1, many);
  settle();
  auto second = claim(1, many, true);
  settle();
  CHECK(asked == (std::vector{false, true}));
  CHECK(db->batches.empty());
  WHEN("the first one fails, the second one goes on") {
    fail();
    CHECK(first->err == ec::store_unavailable);
    CHECK(db->batches.empty());
  }
  WHEN("that fails, too, the db actor makes the claim, and looks first") {
    fail();
    REQUIRE(second->value.has_value());
    CHECK_EQ(second->value->jobs.size(), many);
    REQUIRE_EQ(db->batches.size(), 1u);
    CHECK(db->batches[0][0].repeated);
  }
  WHEN("it is repeated once more, nobody else has it") {
    auto third = claim(1, many, true);
    settle();
    REQUIRE(third->value.has_value());
    CHECK_EQ(asked.size(), 2u);
    CHECK_EQ(running(), many);
  }
}

SCENARIO("what waits to share a transaction does not wait for this claim") {
  jobs_come_often();
  add_jobs(100);
  auto added = ask<enqueued>(uut, caf::join_atom_v, new_job(1));
  auto got = claim(1, many);
  settle();
  CHECK(added->value.has_value());
  CHECK(got->value.has_value());
}

SCENARIO("the claimer ends with the db actor") {
  add_jobs(100);
  claim(1, many);
  settle();
  REQUIRE(claimer != nullptr);
  caf::anon_send_exit(uut, caf::exit_reason::user_shutdown);
  settle();
  CHECK(is_dead(claimer));
}

END_FIXTURE_SCOPE()
