// actors/executor.cpp -- a processor's end, whatever it is, becomes one value.
#include "actors/executor.hpp"

#include "actors/run_context.hpp"

#include <exception>
#include <utility>

namespace reeve {

namespace {

/// How long ends of short runs wait for those behind them.
constexpr auto news_interval = std::chrono::milliseconds{5};

} // namespace

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
    [this](run_atom, const run_bundle_ptr& x) { run_all(x); },
  };
}

void executor_state::run_all(const run_bundle_ptr& bundle) {
  auto& clock = self_->clock();
  auto told = clock.now();
  while (const auto* next = bundle->begin_next(clock.now())) {
    auto result = run(*next);
    auto now = clock.now();
    if (!bundle->finish(std::move(result), now))
      break;
    if (now - told >= news_interval) {
      self_->send(owner_, run_news{bundle});
      told = now;
    }
  }
  self_->send(owner_, run_news{bundle});
}

outcome executor_state::run(const assignment& x) {
  // It was cancelled while others were before it.
  if (x.control.stop_requested())
    return outcome::cancelled();
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
