// processors/processor.hpp -- what a job type does.
#pragma once

#include "persistence/job.hpp"

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace reeve {

/// How one run ended, in the processor's view. Make one with the functions.
struct outcome {
  run_outcome kind = run_outcome::completed;
  /// For `completed`; what `GET /api/jobs/{id}` shows as `result`.
  nlohmann::json result;
  /// For `completed`: committed together with the job's COMPLETED.
  std::optional<knowledge_card> card;
  /// For everything else: what went wrong, for people.
  std::string message;
  /// For `throttled`, `provider_down`, `snoozed`: not before this long.
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
};

/// What a running job may ask of the node.
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

  /// The target of a CARD_ANALYSIS; none when it is gone. Waits while the
  /// database is away; throws `run_stopped` when `stop()` fires meanwhile.
  virtual std::optional<scrap> find_scrap(const std::string& id) = 0;
};

/// Ends a run that was told to stop; the executor turns it into an outcome.
class run_stopped {};

/// The work of one job type. One object serves all job actors: `run` is
/// called from several threads at once and must not keep state.
class processor {
public:
  virtual ~processor() = default;

  /// Does the job. An exception counts as `failed` with its text.
  virtual outcome run(job_context& context) = 0;
};

} // namespace reeve
