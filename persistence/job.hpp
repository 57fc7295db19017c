// persistence/job.hpp -- the nouns of the job model, shared by every layer.
#pragma once

#include "persistence/json_text.hpp"
#include "persistence/trace_context.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reeve {

/// Wall-clock instants as the store keeps them: UTC, microseconds.
using timestamp = std::chrono::sys_time<std::chrono::microseconds>;

/// The states a client sees. Spelled the same in C++, SQL, JSON and docs.
enum class job_status : uint8_t {
  pending,
  processing,
  completed,
  failed,
  cancelled,
};

std::string_view to_string(job_status x);

/// Parses the upper-case spelling (`PENDING`, …).
std::optional<job_status> job_status_from(std::string_view text);

/// True for states that a job never leaves without an operator's retry.
constexpr bool is_final(job_status x) {
  return x >= job_status::completed;
}

/// How often a job's runs ended without being the job's fault.
struct unspent_counts {
  uint32_t throttled = 0;
  uint32_t provider_down = 0;
  uint32_t interrupted = 0;

  bool operator==(const unspent_counts&) const = default;
};

/// What a provider's call cost.
struct usage {
  uint64_t input_tokens = 0;
  uint64_t output_tokens = 0;
  uint64_t images = 0;

  usage& operator+=(const usage& x) {
    input_tokens += x.input_tokens;
    output_tokens += x.output_tokens;
    images += x.images;
    return *this;
  }

  bool operator==(const usage&) const = default;
};

/// A job as clients see it.
struct job {
  /// The key inside the store: insertion order, never shown to clients.
  int64_t seq = 0;
  /// The key outside: a UUIDv7 in lower case.
  std::string id;
  std::string type;
  job_status status = job_status::pending;
  /// Soft reference to what the job works on; never empty.
  std::string target_id;
  std::optional<std::string> user_id;
  json_text payload = json_text::empty_object();
  /// Null until COMPLETED.
  json_text result;
  /// 0 to 100.
  int progress_percent = 0;
  std::string progress_message;
  /// The last failure; at most 1,000 code points and `...`.
  std::optional<std::string> error_message;
  /// Runs that were the job's own fault or are under way.
  uint32_t attempts = 0;
  uint32_t max_attempts = 3;
  /// Lower runs sooner (as in River, Oban, graphile-worker and BullMQ).
  int32_t priority = 0;
  std::optional<std::string> unique_key;
  /// As it came with the job: each run is a child of it.
  trace_context trace;
  /// When the job is or was due.
  timestamp run_at;
  /// Why a PENDING job waits, e.g. `retry`, `rescued`; empty for a new one.
  std::string reason;
  /// Somebody asked a PROCESSING job to stop.
  bool cancel_requested = false;
  unspent_counts unspent;
  /// Of all its steps, in all its runs.
  usage used;
  /// Grows by one or more with every visible change.
  int64_t version = 1;
  /// Number of the current or last run; never given back.
  int64_t run = 0;
  timestamp created_at;
  std::optional<timestamp> started_at;
  std::optional<timestamp> finished_at;
  timestamp updated_at;
};

/// A job that many hold.
using job_ptr = std::shared_ptr<const job>;

/// A run among all: `seq` and `run` of its job. Also the order in which
/// everybody locks runs.
using run_key = std::pair<int64_t, int64_t>;

inline run_key key_of(const job& x) {
  return {x.seq, x.run};
}

/// What became of one run, before anyone decided what follows.
enum class run_outcome : uint8_t {
  completed,
  /// The processor failed; trying again may help.
  failed,
  /// The processor failed; trying again cannot help.
  failed_permanently,
  /// The run exceeded its type's timeout.
  timed_out,
  /// The actor or node that ran it died.
  lost,
  /// The provider asked us to slow down (429, Retry-After).
  throttled,
  /// The provider is unreachable, overloaded or answers 5xx.
  provider_down,
  /// The node shut down while the run was under way.
  interrupted,
  /// The processor asked to be run again later.
  snoozed,
  cancelled,
};

std::string_view to_string(run_outcome x);
std::optional<run_outcome> run_outcome_from(std::string_view text);

/// What follows from an outcome.
enum class verdict : uint8_t {
  /// COMPLETED, with result and effects.
  complete,
  /// Back to PENDING, the attempt counted.
  retry,
  /// Back to PENDING, the attempt given back.
  retry_unspent,
  /// FAILED for good.
  fail,
  /// CANCELLED.
  cancel,
};

std::string_view to_string(verdict x);

/// A run that did not end in COMPLETED, for people.
struct attempt {
  int64_t run = 0;
  std::string node;
  timestamp started_at;
  timestamp finished_at;
  run_outcome outcome = run_outcome::failed;
  std::string error;
  verdict decision = verdict::fail;
  /// Why it was decided so, e.g. `attempt 1 of 3 failed`.
  std::string why;
  /// When the job was due again; empty when it was not put back.
  std::optional<timestamp> next_run_at;
};

/// A part of a job's work that was done and committed, so that no later run
/// does it again. The key is the job, `name` and `input_hash`.
struct job_step {
  /// E.g. `text` or `image-3`.
  std::string name;
  /// SHA-256 of the step's input in lower-case hexadecimal digits: a step with
  /// another input is another step.
  std::string input_hash;
  nlohmann::json result;
  /// Who was paid for it, e.g. `anthropic`; empty: nobody.
  std::string provider;
  std::string model;
  usage used;
  std::chrono::milliseconds took{0};
  /// The run that did it.
  int64_t run = 0;
  timestamp created_at;
};

/// Who may call the API. The key itself is shown once, when it is made; the
/// store keeps its SHA-256.
struct api_key {
  std::string id;
  /// For people, e.g. `web front end`.
  std::string name;
  /// `operator` or `client`; a client sees and makes only its own jobs.
  std::string role;
  /// Whose jobs a client sees; empty for operators.
  std::optional<std::string> user_id;
  /// SHA-256 of the key in lower-case hexadecimal digits.
  std::string digest;
  timestamp created_at;
  std::optional<timestamp> revoked_at;
};

/// The error of a job whose target vanished; clients match on this text.
inline constexpr std::string_view target_gone_message =
  "Target data not found (Already deleted)";

} // namespace reeve
