// actors/executor.cpp -- a processor's end, whatever it is, becomes one value.
#include "actors/executor.hpp"

#include <caf/scoped_actor.hpp>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

namespace reeve {

namespace {

using namespace std::chrono_literals;

/// How long one read may take before it is asked again.
constexpr auto read_timeout = 10s;
constexpr auto retry_interval = 200ms;

void wait_or_stop(std::chrono::milliseconds delay, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock guard{mutex};
  changed.wait_for(guard, stop, delay, [] { return false; });
  if (stop.stop_requested())
    throw run_stopped{};
}

// The node as a processor sees it.
class run_context : public job_context {
public:
  run_context(caf::actor_system& sys, const assignment& what, job_actor owner,
              reader_actor reader)
    : self_(sys),
      what_(what),
      owner_(std::move(owner)),
      reader_(std::move(reader)) {
    // nop
  }

  const job& current() const override {
    return what_.job;
  }

  void progress(int percent, std::string_view message) override {
    self_->send(owner_,
                run_progress{what_.job.seq, what_.job.run,
                             std::clamp(percent, 0, 100),
                             std::string{message}});
  }

  std::stop_token stop() const override {
    return what_.control->stop.get_token();
  }

  std::optional<scrap> find_scrap(const std::string& id) override {
    for (;;) {
      if (stop().stop_requested())
        throw run_stopped{};
      std::optional<scrap> result;
      caf::error failure;
      self_->request(reader_, read_timeout, scrap_atom_v, id)
        .receive([&](scrap& x) { result = std::move(x); },
                 [&](caf::error& err) { failure = std::move(err); });
      if (!failure || failure == ec::not_found)
        return result;
      // The database is away or the reader restarts: the run can wait.
      wait_or_stop(retry_interval, stop());
    }
  }

private:
  caf::scoped_actor self_;
  const assignment& what_;
  job_actor owner_;
  reader_actor reader_;
};

} // namespace

executor_state::executor_state(
  executor_actor::pointer self, job_actor owner, reader_actor reader,
  std::shared_ptr<const processor_registry> processors)
  : self_(self),
    owner_(std::move(owner)),
    reader_(std::move(reader)),
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
    run_context context{self_->system(), x, owner_, reader_};
    return processor->run(context);
  } catch (const run_stopped&) {
    return outcome::cancelled();
  } catch (const std::exception& err) {
    return outcome::failed(err.what());
  } catch (...) {
    return outcome::failed("The processor threw something that is no "
                           "std::exception");
  }
}

} // namespace reeve
