// persistence/reads.hpp -- what a store is asked for, and what it finds.
#pragma once

#include "persistence/books.hpp"
#include "persistence/cards.hpp"
#include "persistence/job.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace reeve {

struct job_filter {
  std::optional<job_status> status;
  std::optional<std::string> type;
  std::optional<std::string> target_id;
  std::optional<std::string> user_id;
  /// An SQL LIKE pattern on `error_message`, case-sensitive.
  std::optional<std::string> error_like;
  /// Only jobs with a smaller `seq`: keyset paging, newest first.
  std::optional<int64_t> before_seq;
  uint32_t limit = 50;
};

struct status_count {
  std::string type;
  job_status status = job_status::pending;
  int64_t count = 0;
};

struct store_stats {
  std::vector<status_count> counts;
  /// Age of the oldest job that is due and waits.
  std::optional<std::chrono::milliseconds> oldest_due_age;
};

/// Which FAILED jobs an operation is about.
struct failure_filter {
  std::optional<std::string> type;
  /// An SQL LIKE pattern on `error_message`, case-sensitive.
  std::optional<std::string> error_like;
  /// As `error_group` has it.
  std::optional<std::string> fingerprint;
  /// Failed at or after, and before.
  std::optional<timestamp> from;
  std::optional<timestamp> to;
};

/// Failures that differ only in ids, numbers and URLs.
struct error_group {
  std::string fingerprint;
  /// The message with those parts replaced.
  std::string pattern;
  int64_t count = 0;
  /// The types it happened to, in alphabetical order.
  std::vector<std::string> types;
  timestamp first_seen;
  timestamp last_seen;
  /// The newest job of the group, and its full message.
  std::string example_job_id;
  std::string example_message;
};

struct failure_preview {
  int64_t matched = 0;
  /// The newest 10.
  std::vector<job> sample;
};

enum class usage_group : uint8_t { type, user, day };

struct usage_row {
  /// A type, a user (empty: nobody's) or a day (`YYYY-MM-DD`, UTC).
  std::string key;
  int64_t jobs = 0;
  int64_t steps = 0;
  usage used;
};

/// A type that was paused at some time.
struct type_state {
  std::string type;
  bool paused = false;
  std::string reason;
  timestamp since;
};

/// What the database knows of why a job does not run.
struct queue_facts {
  reeve::job job;
  /// By the store's clock.
  timestamp now;
  /// The type's state when it is paused.
  std::optional<type_state> pause;
  /// Due jobs that are claimed sooner, counted up to 10,000.
  int64_t ahead = 0;
};

/// Cards by similarity of their embeddings. Only cards with as many dimensions
/// are compared.
struct card_search {
  std::vector<float> embedding;
  /// Only this user's cards.
  std::optional<std::string> user_id;
  /// Only cards made before.
  std::optional<timestamp> before;
  uint32_t limit = 10;
};

} // namespace reeve
