// persistence/sqlite_writer.hpp -- the writes of one SQLite transaction.
#pragma once

#include "persistence/job_store.hpp"
#include "persistence/sqlite_connection.hpp"

namespace reeve {

/// Applies single writes inside an open transaction. Throws SQLite::Exception;
/// a write that answers `refusal` has changed nothing.
class sqlite_writer {
public:
  /// `now` is the instant of the whole transaction.
  sqlite_writer(sqlite_connection& db, timestamp now) : db_(db), now_(now) {
  }

  write_answer apply(const write_entry& entry);

private:
  /// What `running` knows of a run.
  struct run_row {
    int64_t seq = 0;
    int64_t run = 0;
    std::string job_type;
    int64_t priority = 0;
    timestamp run_at;
    uint32_t attempts = 0;
    unspent_counts unspent;
    std::string node;
    timestamp started_at;
    int progress_percent = 0;
    std::string progress_message;
    bool cancel_requested = false;
    int64_t version = 0;
  };

  /// How a run ends, once it is decided.
  struct run_end {
    run_outcome outcome = run_outcome::failed;
    verdict decision = verdict::fail;
    nlohmann::json result;
    /// Storable; empty keeps the job's last error.
    std::string error;
    std::string why;
    timestamp due;
    std::string_view reason;
  };

  // sqlite_enqueue.cpp
  write_answer on(const enqueue_write& x, bool repeated);
  write_answer on(const enqueue_batch_write& x, bool repeated);
  std::optional<enqueued> earlier_try(const enqueue_write& x);
  std::optional<write_answer> same_key(const enqueue_write& x);
  void insert_scrap(const scrap& x);
  job insert_job(const enqueue_write& x);

  // sqlite_claim.cpp
  write_answer on(const claim_write& x, bool repeated);
  write_answer on(const heartbeat_write& x, bool repeated);
  write_answer on(const progress_write& x, bool repeated);
  std::vector<int64_t> due_jobs(uint32_t limit);
  void start(int64_t seq, const claim_write& x);
  std::vector<job> claimed_with(const claim_write& x);
  std::optional<timestamp> first_due();

  // sqlite_settle.cpp
  write_answer on(const settle_write& x, bool repeated);
  write_answer on(const rescue_write& x, bool repeated);
  std::optional<run_row> find_run(int64_t seq, int64_t run);
  bool was_settled(int64_t seq, int64_t run);
  bool store_card(const knowledge_card& x, const std::string& job_id);
  void end_run(const run_row& row, run_end end);
  void finish(const run_row& row, const run_end& end, timestamp at);
  void put_back(const run_row& row, const run_end& end, timestamp at);
  void note_attempt(const run_row& row, const run_end& end, timestamp at);
  int64_t deaths_of(int64_t seq);
  void rescue(const run_row& row);

  // sqlite_requests.cpp
  write_answer on(const cancel_write& x, bool repeated);
  write_answer on(const retry_write& x, bool repeated);
  write_answer on(const delete_scrap_write& x, bool repeated);
  bool key_is_taken(const job& x);

  /// `changed`, with the job as it is now.
  write_answer changed_job(int64_t seq);

  sqlite_connection& db_;
  timestamp now_;
};

} // namespace reeve
