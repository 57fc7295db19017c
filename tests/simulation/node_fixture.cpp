// tests/simulation/node_fixture.cpp -- spawns the node; scripted executors ask
// for permits without blocking.
#include "node_fixture.hpp"

#include "actors/event_hub.hpp"
#include "actors/provider_gate.hpp"
#include "actors/query_actor.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace reeve::test {

namespace {

using namespace std::chrono_literals;

/// How far the clocks go at once.
constexpr auto tick = 100ms;

uint64_t choose_seed() {
  const auto* given = std::getenv("REEVE_SIMULATION_SEED");
  auto result = given != nullptr ? std::strtoull(given, nullptr, 10)
                                 : std::random_device{}();
  std::cout << "seed " << result << " (REEVE_SIMULATION_SEED)" << std::endl;
  return result;
}

outcome outcome_of(const call_report& how) {
  switch (how.effect) {
    case lane_effect::none:
      return outcome::completed({{"ok", true}});
    case lane_effect::throttle:
      return outcome::throttled(how.message, how.delay);
    case lane_effect::outage:
    case lane_effect::pause:
      return outcome::provider_down(how.message, how.delay);
  }
  return outcome::failed("unknown effect");
}

outcome outcome_of(const permit_answer& no) {
  return no.kind == run_outcome::throttled
    ? outcome::throttled(no.reason, no.delay)
    : outcome::provider_down(no.reason, no.delay);
}

// As the real one, but it waits in messages.
class simulated_executor {
public:
  static constexpr const char* name = "reeve.simulated-executor";

  simulated_executor(executor_actor::pointer self, job_actor owner,
                     run_services_actor services, simulated_world_ptr world)
    : self_(self),
      owner_(std::move(owner)),
      services_(std::move(services)),
      world_(std::move(world)) {
    // nop
  }

  executor_actor::behavior_type make_behavior() {
    return {[this](run_atom, const run_bundle_ptr& x) {
      bundle_ = x;
      next();
    }};
  }

private:
  void next() {
    if (const auto* what = bundle_->begin_next(self_->clock().now()))
      ask(what->job);
  }

  void ask(const job& what) {
    self_->request(services_, 24h, permit_request{simulated_lane, 10})
      .then(
        [this, what](const permit_answer& x) {
          if (x.permit == 0)
            end(what, outcome_of(x));
          else
            call(what, x.permit);
        },
        [this, what](const caf::error&) {
          // As `run_context`: a gate that is being restarted is asked again.
          self_->run_delayed(200ms, [this, what] { ask(what); });
        });
  }

  void call(const job& what, uint64_t permit) {
    auto began = world_->now;
    auto index = world_->calls.size();
    world_->calls.push_back({began, what.seq, {}});
    self_->run_delayed(world_->latency(began), [=, this] {
      auto how = world_->provider(began);
      world_->calls[index].effect = how.effect;
      self_->send(services_, permit_return{simulated_lane, permit, how});
      end(what, outcome_of(how));
    });
  }

  void end(const job& what, outcome how) {
    auto current = bundle_->current();
    if (!current || key_of(current->what->job) != key_of(what))
      return;
    auto more = bundle_->finish(std::move(how), self_->clock().now());
    self_->send(owner_, run_news{bundle_});
    if (more)
      next();
  }

  executor_actor::pointer self_;
  job_actor owner_;
  run_services_actor services_;
  simulated_world_ptr world_;
  run_bundle_ptr bundle_;
};

} // namespace

// -- simulated_world ----------------------------------------------------------

size_t simulated_world::calls_between(instant from, instant to) const {
  auto is_between = [=](const simulated_call& x) {
    return x.at >= from && x.at < to;
  };
  return static_cast<size_t>(
    std::count_if(calls.begin(), calls.end(), is_between));
}

size_t simulated_world::count(lane_effect effect) const {
  auto is_one = [=](const simulated_call& x) { return x.effect == effect; };
  return static_cast<size_t>(std::count_if(calls.begin(), calls.end(), is_one));
}

// -- node_fixture -------------------------------------------------------------

node_fixture::node_fixture() : seed(choose_seed()) {
  world->random.seed(seed);
  world->provider = [](instant) { return call_report{}; };
  world->latency = [world = world.get()](instant) {
    return instant{100 + static_cast<int64_t>(world->random() % 1'900)};
  };
  options.owner = {"node", 1};
  options.seed = seed;
  options.types = {{"CARD_ANALYSIS", {simulated_lane}}};
  options.type = [](const std::string&) { return type_options{}; };
  lane.name = simulated_lane;
  lane.concurrency = 3;
}

child_factories node_fixture::factories() {
  child_factories result;
  auto enroll = [this](std::string name, auto x) {
    actors[name] = caf::actor_cast<caf::actor>(x);
    return adopt(x);
  };
  result.event_hub = [=, this] {
    return enroll("event-hub", sys.spawn<event_hub_impl>(event_hub_options{}));
  };
  // Attached: all of the node runs under the test's scheduler.
  result.db = [=, this](change_sink_actor sink) {
    return enroll("db",
                  sys.spawn<db_actor_impl>(std::make_unique<fake_store>(db),
                                           sink, db_actor_options{}));
  };
  result.query = [=, this] {
    return enroll("query", sys.spawn<query_actor_impl>([db = db] {
      return std::make_unique<fake_store>(db);
    }));
  };
  result.recovery = [=, this](rescuer_actor rescuer) {
    // The fake store knows no leases: to it every run is stale.
    return enroll(
      "recovery",
      sys.spawn<recovery_impl>(
        rescuer, recovery_options{.owner = options.owner, .interval = 240h}));
  };
  result.scheduler = [=, this](wakeable_actor target) {
    return enroll("scheduler",
                  sys.spawn<scheduler_impl>(target, scheduler_options{}));
  };
  result.gates.push_back(
    {simulated_lane, [=, this](lane_watcher_actor watcher) {
       return enroll(
         "gate", sys.spawn<provider_gate_impl>(lane, std::move(watcher), seed));
     }});
  result.job = [=, this](run_owner_actor owner, run_services_actor services) {
    using executor_impl = executor_actor::stateful_impl<simulated_executor>;
    auto make_executor = [this, services](job_actor slot) {
      return adopt(sys.spawn<executor_impl>(slot, services, world));
    };
    auto slot =
      sys.spawn<job_actor_impl>(owner, make_executor, job_actor_options{});
    return enroll("job", slot);
  };
  return result;
}

void node_fixture::boot() {
  node = adopt(sys.spawn<supervisor_impl>(factories(), options));
  auto booted = ask<uint16_t>(node, boot_atom_v);
  settle();
  CAF_REQUIRE(booted->value.has_value());
}

void node_fixture::enqueue(size_t count, uint32_t max_attempts) {
  for (size_t i = 0; i < count; ++i) {
    enqueue_write write;
    write.id = "job-" + std::to_string(db->next_seq + static_cast<int64_t>(i));
    write.type = "CARD_ANALYSIS";
    write.target_id = "target";
    write.max_attempts = max_attempts;
    caf::anon_send(node, std::move(write));
  }
  settle();
}

void node_fixture::run_for(instant duration) {
  for (auto end = world->now + duration; world->now < end;) {
    world->now += tick;
    db->now += tick;
    db->batches.clear();
    pass(tick);
  }
}

bool node_fixture::run_until_done(instant longest) {
  auto end = world->now + longest;
  while (world->now < end && count(job_status::completed) < db->jobs.size())
    run_for(1s);
  return count(job_status::completed) == db->jobs.size();
}

size_t node_fixture::count(job_status status) const {
  auto has_it = [=](const auto& x) { return x.second.status == status; };
  return static_cast<size_t>(
    std::count_if(db->jobs.begin(), db->jobs.end(), has_it));
}

size_t node_fixture::pick(size_t n) {
  return static_cast<size_t>(world->random() % n);
}

} // namespace reeve::test
