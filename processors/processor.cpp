// processors/processor.cpp -- how outcomes are made.
#include "processors/processor.hpp"

#include "persistence/digest.hpp"

#include <utility>

namespace reeve {

namespace {

outcome make(run_outcome kind, std::string message,
             std::optional<std::chrono::milliseconds> delay = {}) {
  outcome result;
  result.kind = kind;
  result.message = std::move(message);
  result.delay = delay;
  return result;
}

} // namespace

outcome outcome::completed(nlohmann::json result) {
  outcome x;
  x.result = std::move(result);
  return x;
}

outcome outcome::failed(std::string message) {
  return make(run_outcome::failed, std::move(message));
}

outcome outcome::failed_permanently(std::string message) {
  return make(run_outcome::failed_permanently, std::move(message));
}

outcome outcome::throttled(std::string message,
                           std::optional<std::chrono::milliseconds> delay) {
  return make(run_outcome::throttled, std::move(message), delay);
}

outcome outcome::provider_down(std::string message,
                               std::optional<std::chrono::milliseconds> delay) {
  return make(run_outcome::provider_down, std::move(message), delay);
}

outcome outcome::interrupted(std::string message,
                             std::optional<std::chrono::milliseconds> delay) {
  return make(run_outcome::interrupted, std::move(message), delay);
}

outcome outcome::lost(std::string message) {
  return make(run_outcome::lost, std::move(message));
}

outcome outcome::snoozed(std::chrono::milliseconds delay) {
  return make(run_outcome::snoozed, {}, delay);
}

outcome outcome::cancelled() {
  return make(run_outcome::cancelled, {});
}

nlohmann::json job_context::step(std::string_view name,
                                 const nlohmann::json& input,
                                 const std::function<step_result()>& work) {
  job_step done;
  done.name = name;
  done.input_hash = sha256_hex(input.dump());
  if (auto known = find_step(done.name, done.input_hash))
    return *std::move(known);
  done.run = current().run;
  auto started = std::chrono::steady_clock::now();
  auto finish = [&done, started](std::string provider, std::string model,
                                 const usage& used) {
    done.took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - started);
    done.provider = std::move(provider);
    done.model = std::move(model);
    done.used = used;
  };
  step_result made;
  try {
    made = work();
  } catch (const run_ended& end) {
    finish(end.provider, end.model, end.used);
    record_failed(std::move(done));
    throw;
  }
  finish(std::move(made.provider), std::move(made.model), made.used);
  done.result = std::move(made.result);
  try {
    store_step(done, std::move(made.effects));
  } catch (const run_ended& end) {
    // Refused for what it is. Of a run that lost its job or was stopped nothing
    // is known, and the same usage must not be counted twice.
    if (end.how.kind != run_outcome::cancelled)
      record_failed(std::move(done));
    throw;
  }
  // What was paid for is safe by now.
  if (stop().stop_requested())
    throw run_ended{outcome::cancelled()};
  return std::move(done.result);
}

// The key has the run and a number in it: no two of these are the same step,
// and none is found by a step that is to be done.
void job_context::record_failed(job_step step) {
  if (step.used == usage{})
    return;
  nlohmann::json key{{"input_hash", step.input_hash},
                     {"run", step.run},
                     {"failure", ++failed_steps_}};
  step.name += " (failed)";
  step.input_hash = sha256_hex(key.dump());
  step.result = nullptr;
  try {
    store_step(std::move(step), {});
  } catch (const run_ended&) {
    // How the run ended before is what counts.
  }
}

const trace_context& job_context::trace() {
  if (!trace_)
    trace_ = child_of(current().trace);
  return *trace_;
}

outcome outcome_of(provider_failure x) {
  switch (x.kind) {
    case run_outcome::failed_permanently:
      return outcome::failed_permanently(std::move(x.message));
    case run_outcome::throttled:
      return outcome::throttled(std::move(x.message), x.delay);
    case run_outcome::provider_down:
      return outcome::provider_down(std::move(x.message), x.delay);
    case run_outcome::cancelled:
      return outcome::cancelled();
    // The rest is not a provider's to say.
    case run_outcome::failed:
    case run_outcome::completed:
    case run_outcome::timed_out:
    case run_outcome::lost:
    case run_outcome::interrupted:
    case run_outcome::snoozed:
      break;
  }
  return outcome::failed(std::move(x.message));
}

} // namespace reeve
