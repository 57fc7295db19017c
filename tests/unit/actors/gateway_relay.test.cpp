// tests/unit/actors/gateway_relay.test.cpp -- on a real multiplexer: its thread
// is what a relay is for.
#define CAF_SUITE actors.gateway_relay

#include "actors/gateway/relay.hpp"

#include <caf/scoped_actor.hpp>
#include <caf/test/bdd_dsl.hpp>

#include <future>
#include <string>
#include <vector>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

struct config : caf::actor_system_config {
  config() {
    load<caf::io::middleman>();
    set("caf.middleman.workers", size_t{0});
    set("caf.scheduler.max-threads", size_t{1});
  }
};

struct fixture {
  config cfg;
  caf::actor_system sys{cfg};
  caf::scoped_actor self{sys};
  /// What came in, in order; to be read when the answers are there.
  std::vector<std::string> targets;
  caf::actor supervisor = sys.spawn([this](caf::event_based_actor*) {
    return caf::behavior{[this](enqueue_write& x) -> caf::result<enqueued> {
      targets.push_back(x.target_id);
      if (x.target_id == "bad")
        return caf::make_error(ec::insufficient_funds, "no money");
      enqueued result;
      result.job.target_id = x.target_id;
      return result;
    }};
  });
  relay_actor uut =
    spawn_relay(sys, caf::actor_cast<supervisor_actor>(supervisor));

  ~fixture() {
    self->send_exit(supervisor, caf::exit_reason::user_shutdown);
  }

  static enqueue_write job_for(std::string target) {
    enqueue_write result;
    result.target_id = std::move(target);
    return result;
  }

  caf::expected<enqueued> add(std::string target) {
    caf::expected<enqueued> result{caf::error{}};
    self->request(uut, 60s, job_for(std::move(target)))
      .receive([&](enqueued& x) { result = std::move(x); },
               [&](caf::error& x) { result = std::move(x); });
    return result;
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("a relay answers as the supervisor does") {
  auto good = add("good");
  REQUIRE(good);
  CHECK_EQ(good->job.target_id, "good");
  auto bad = add("bad");
  REQUIRE(!bad);
  CHECK_EQ(bad.error(), ec::insufficient_funds);
  CHECK_EQ(bad.error().context().get_as<std::string>(0), "no money");
}

SCENARIO("many jobs come in their order, and each gets its own answer") {
  std::vector<std::string> sent;
  size_t answered = 0;
  // Who asks is one actor, so that all are under way at once.
  auto done = std::make_shared<std::promise<void>>();
  auto all = done->get_future();
  for (int i = 0; i < 200; ++i)
    sent.push_back(std::to_string(i));
  sys.spawn([&, done](caf::event_based_actor* asking) {
    for (const auto& target : sent)
      asking->request(uut, caf::infinite, job_for(target))
        .then([&, done, target](enqueued& x) {
          CHECK_EQ(x.job.target_id, target);
          if (++answered == sent.size())
            done->set_value();
        });
  });
  REQUIRE(all.wait_for(60s) == std::future_status::ready);
  CHECK_EQ(targets, sent);
}

SCENARIO("without a supervisor the answer is an error, at once") {
  self->send_exit(supervisor, caf::exit_reason::kill);
  self->wait_for(supervisor);
  auto lost = add("lost");
  REQUIRE(!lost);
  CHECK_EQ(lost.error(), caf::sec::request_receiver_down);
}

SCENARIO("a relay that nobody can ask any more ends") {
  self->monitor(uut);
  uut = nullptr;
  self->receive([](const caf::down_msg& x) {
    CHECK_EQ(x.reason, caf::exit_reason::unreachable);
  });
}

END_FIXTURE_SCOPE()
