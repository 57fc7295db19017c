// processors/processor.hpp -- what a job type does.
#pragma once

#include "persistence/job.hpp"
#include "persistence/reads.hpp"
#include "persistence/writes.hpp"
#include "processors/ai/provider.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace reeve {

/// How one run ended, in the processor's view. Make one with the functions.
struct outcome {
  run_outcome kind = run_outcome::completed;
  /// For `completed`; what `GET /api/jobs/{id}` shows as `result`.
  nlohmann::json result;
  /// For `completed`: committed together with the job's COMPLETED.
  std::vector<effect> effects;
  /// For everything else: what went wrong, for people.
  std::string message;
  /// For `throttled`, `provider_down`, `snoozed`, `interrupted`: not before
  /// this long.
  std::optional<std::chrono::milliseconds> delay;

  static outcome completed(nlohmann::json result);
  /// Trying again may help.
  static outcome failed(std::string message);
  /// Trying again cannot help.
  static outcome failed_permanently(std::string message);
  static outcome throttled(std::string message,
                           std::optional<std::chrono::milliseconds> delay = {});
  static outcome provider_down(
    std::string message, std::optional<std::chrono::milliseconds> delay = {});
  static outcome snoozed(std::chrono::milliseconds delay);
  static outcome cancelled();
  /// Nobody's fault: the run was taken from its processor.
  static outcome interrupted(
    std::string message, std::optional<std::chrono::milliseconds> delay = {});
  /// Who ran it died.
  static outcome lost(std::string message);
};

/// Ends a run from anywhere inside a processor; the executor turns it into its
/// outcome.
struct run_ended {
  outcome how;
  /// What was paid for nothing, and whom: `job_context::step` records it.
  usage used{};
  std::string provider{};
  std::string model{};
};

/// What a step makes: its result, and what is committed with it.
struct step_result {
  nlohmann::json result;
  std::vector<effect> effects;
  /// Who was paid for it; empty: nobody.
  std::string provider;
  std::string model;
  usage used;
};

/// How a call went, for those who call after it.
struct call_report {
  lane_effect effect = lane_effect::none;
  std::optional<std::chrono::milliseconds> delay;
  rate_limits limits;
  usage used;
  /// Of a failure, for operators.
  std::string message;
};

/// The right to make one call to a provider. Given back when it is destroyed.
class call_permit {
public:
  virtual ~call_permit() = default;

  /// Tells the lane how the call went; at most once.
  virtual void report(call_report x) = 0;
};

/// What a running job may ask of the node. Everything that waits ends with
/// `run_ended` once `stop()` fires; reads and writes wait while the database
/// is away.
class job_context {
public:
  virtual ~job_context() = default;

  virtual const job& current() const = 0;

  /// Tells watchers how far the run is: 0 to 100, and a short text. Cheap:
  /// reports that come faster than ten a second are merged.
  virtual void progress(int percent, std::string_view message) = 0;

  /// Fires when the job is cancelled, times out, loses its lease or the node
  /// stops. A processor that waits for something must watch it.
  virtual std::stop_token stop() const = 0;

  /// What this run tells those it calls: a span of its own in the trace that
  /// the job came with; empty without one.
  const trace_context& trace();

  /// For calls of models.
  call_scope scope() {
    return {stop(), trace()};
  }

  // -- durable steps ----------------------------------------------------------

  /// Does `work` once a job: its result is committed before this returns, and
  /// a later run, on any node, takes it from there. `input` is whatever the
  /// result depends on: a step with another input is done anew. An exception
  /// of `work` stores no result; what a `run_ended` says was used is recorded
  /// as a step `NAME (failed)`, which is never taken for one that was done.
  /// Throws `run_ended` when the run lost its job or an effect's target is
  /// gone.
  nlohmann::json step(std::string_view name, const nlohmann::json& input,
                      const std::function<step_result()>& work);

  // -- providers --------------------------------------------------------------

  /// Waits for its turn to call; null when `lane` is empty (nobody is called).
  /// Throws `run_ended` (throttled or provider down, until when) when the lane
  /// takes no calls for long. `tokens` is about what the call will use.
  virtual std::unique_ptr<call_permit> acquire(const std::string& lane,
                                               uint64_t tokens) = 0;

  // -- data -------------------------------------------------------------------

  virtual std::optional<scrap> find_scrap(const std::string& id) = 0;
  virtual std::optional<content> find_content(const std::string& id) = 0;
  /// By id, or the newest one of this user and date (`YYYY-MM-DD`).
  virtual std::optional<summary_view> find_summary(
    const std::string& id_or_date,
    const std::optional<std::string>& user_id) = 0;
  /// Of one user, in a span of time, oldest first, with embeddings.
  virtual std::vector<knowledge_card> cards_between(
    const std::optional<std::string>& user_id, timestamp from, timestamp to,
    uint32_t limit) = 0;
  virtual std::vector<card_hit> similar_cards(const card_search& what) = 0;

protected:
  /// A step of an earlier run.
  virtual std::optional<nlohmann::json> find_step(
    const std::string& name, const std::string& input_hash) = 0;
  /// Returns after the commit.
  virtual void store_step(job_step step, std::vector<effect> effects) = 0;

private:
  void record_failed(job_step step);

  /// Of this run.
  uint32_t failed_steps_ = 0;
  std::optional<trace_context> trace_;
};

/// Calls a provider in its turn and tells the lane how it went; a failure ends
/// the run with what follows from it. `call` makes the request.
template <class T, class Call>
provider_answer<T> call_provider(job_context& context, const lane_key& lane,
                                 uint64_t tokens, Call call);

/// What a run's end is after a provider's failure.
outcome outcome_of(provider_failure x);

/// The end of a run by an answer that has its price all the same: a failure, or
/// a result that is of no use.
template <class T>
run_ended paid_end(const lane_key& lane, const provider_answer<T>& answer,
                   outcome how);

/// The work of one job type. One object serves all job actors: `run` is
/// called from several threads at once and must not keep state.
class processor {
public:
  virtual ~processor() = default;

  /// Does the job. An exception counts as `failed` with its text.
  virtual outcome run(job_context& context) = 0;

  /// The lanes it may call: while one of them takes no calls, jobs of its type
  /// are not started.
  virtual std::vector<std::string> lanes() const {
    return {};
  }
};

template <class T, class Call>
provider_answer<T> call_provider(job_context& context, const lane_key& lane,
                                 uint64_t tokens, Call call) {
  auto permit = context.acquire(lane.name(), tokens);
  provider_answer<T> answer = call();
  auto* failure = std::get_if<provider_failure>(&answer.result);
  if (permit) {
    call_report report;
    report.limits = answer.limits;
    report.used = answer.used;
    if (failure != nullptr) {
      report.effect = failure->lane;
      report.delay = failure->delay;
      report.message = failure->message;
    }
    permit->report(std::move(report));
  }
  if (failure != nullptr)
    throw paid_end(lane, answer, outcome_of(std::move(*failure)));
  return answer;
}

template <class T>
run_ended paid_end(const lane_key& lane, const provider_answer<T>& answer,
                   outcome how) {
  return {std::move(how), answer.used, lane.provider,
          answer.model.empty() ? lane.model : answer.model};
}

} // namespace reeve
