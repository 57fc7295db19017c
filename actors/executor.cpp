// actors/executor.cpp -- a processor's end, whatever it is, becomes one value.
#include "actors/executor.hpp"

#include "actors/run_context.hpp"

#include <exception>
#include <utility>

namespace reeve {

executor_state::executor_state(
  executor_actor::pointer self, job_actor owner, run_services_actor services,
  std::shared_ptr<const processor_registry> processors)
  : self_(self),
    owner_(std::move(owner)),
    services_(std::move(services)),
    processors_(std::move(processors)) {
  // nop
}

executor_actor::behavior_type executor_state::make_behavior() {
  return {
    [this](run_atom, assignment& x) {
      auto result = run(x);
      self_->send(owner_, run_report{x.job.seq, x.job.run, std::move(result)});
    },
  };
}

outcome executor_state::run(assignment& x) {
  auto processor = processors_->find(x.job.type);
  if (processor == nullptr)
    return outcome::failed_permanently("This node has no processor for "
                                       + x.job.type);
  try {
    run_context context{self_->system(), x, owner_, services_};
    return processor->run(context);
  } catch (run_ended& end) {
    return std::move(end.how);
  } catch (const std::exception& err) {
    return outcome::failed(err.what());
  } catch (...) {
    return outcome::failed("The processor threw something that is no "
                           "std::exception");
  }
}

} // namespace reeve
