// actors/executor.hpp -- a thread that runs processors.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/metered_actor.hpp"
#include "processors/registry.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <memory>

namespace reeve {

class executor_state {
public:
  static constexpr const char* name = "reeve.executor";

  executor_state(executor_actor::pointer self, job_actor owner,
                 run_services_actor services,
                 std::shared_ptr<const processor_registry> processors);

  executor_actor::behavior_type make_behavior();

private:
  void run_all(const run_bundle_ptr& bundle);
  outcome run(const assignment& x);

  executor_actor::pointer self_;
  job_actor owner_;
  run_services_actor services_;
  std::shared_ptr<const processor_registry> processors_;
};

/// To be spawned `caf::detached`: `run` blocks for as long as the job takes.
using executor_impl =
  metered_actor<executor_actor::stateful_impl<executor_state>>;

} // namespace reeve
