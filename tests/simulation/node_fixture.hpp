// tests/simulation/node_fixture.hpp -- a whole node by a virtual clock: real
// actors over a store in memory, and a provider that does what the test says.
#pragma once

#include "actors/lane.hpp"
#include "actors/supervisor.hpp"

#include "support/actor_fixture.hpp"
#include "support/fake_store.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace reeve::test {

/// The lane that all jobs of a simulation need.
inline constexpr const char* simulated_lane = "provider/model";

/// Time since the simulation began.
using instant = std::chrono::milliseconds;

struct simulated_call {
  instant at{0};
  int64_t seq = 0;
  /// Empty while it is under way, or when its caller died.
  std::optional<lane_effect> effect;
};

/// What executors, provider and test share.
struct simulated_world {
  instant now{0};
  std::mt19937_64 random;
  /// How the provider answers a call that began at an instant.
  std::function<call_report(instant)> provider;
  /// How long it takes to.
  std::function<instant(instant)> latency;
  std::vector<simulated_call> calls;

  /// Calls that began at or after `from` and before `to`.
  size_t calls_between(instant from, instant to) const;

  size_t count(lane_effect effect) const;
};

using simulated_world_ptr = std::shared_ptr<simulated_world>;

class node_fixture : public actor_fixture {
public:
  simulated_world_ptr world = std::make_shared<simulated_world>();
  fake_database_ptr db = std::make_shared<fake_database>();
  uint64_t seed;
  supervisor_options options;
  lane_options lane;
  supervisor_actor node;
  /// The living actors by their names.
  std::map<std::string, caf::actor> actors;

  /// Takes `REEVE_SIMULATION_SEED` or a random one, and prints it.
  node_fixture();

  void boot();

  /// Adds jobs that are due now.
  void enqueue(size_t count, uint32_t max_attempts = 3);

  /// Lets time pass in small steps.
  void run_for(instant duration);

  /// Lets time pass until all jobs are COMPLETED; false when that took longer.
  bool run_until_done(instant longest);

  size_t count(job_status status) const;

  /// A random number from 0 to `n` - 1.
  size_t pick(size_t n);

private:
  child_factories factories();
};

} // namespace reeve::test
