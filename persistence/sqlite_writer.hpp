// persistence/sqlite_writer.hpp -- the writes of one SQLite transaction.
#pragma once

#include "persistence/job_store.hpp"
#include "persistence/sqlite_connection.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reeve {

/// Thrown by a write that has changed something and must undo it, when there
/// is nothing to undo it with: the transaction has to be done again, with a
/// savepoint around each write.
struct needs_savepoints {};

/// Applies single writes inside an open transaction. Throws SQLite::Exception;
/// a write that answers `refusal` has changed nothing.
class sqlite_writer {
public:
  /// `now` is the instant of the whole transaction. `each_alone`: the caller
  /// puts a savepoint around each write.
  sqlite_writer(sqlite_connection& db, timestamp now, bool each_alone)
    : db_(db), now_(now), each_alone_(each_alone) {
  }

  write_answer apply(const write_entry& entry);

  /// Stores what is counted once for many writes. Goes before the commit, and
  /// before a savepoint is kept.
  void store_counts();

  /// Forgets what was counted since: its writes are undone.
  void drop_counts() {
    finished_.clear();
  }

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
    bool cancel_requested = false;
    int64_t version = 0;
  };

  /// A type that a claim asks for and its waiting jobs' priorities, lowest
  /// (first) first.
  struct lane {
    std::string type;
    std::vector<int64_t> priorities;
    /// How many more of it the claim may take.
    uint32_t left = 0;
  };

  /// How a run ends, once it is decided.
  struct run_end {
    run_outcome outcome = run_outcome::failed;
    verdict decision = verdict::fail;
    json_text result;
    /// Storable; empty keeps the job's last error.
    std::string error;
    std::string why;
    timestamp due;
    std::string_view reason;
  };

  /// A job that its user pays for.
  struct priced_job {
    std::string id;
    std::string user_id;
    int64_t price = 0;
  };

  /// A line of the ledger before it has a number.
  struct ledger_line {
    std::string user_id;
    ledger_kind kind = ledger_kind::grant;
    int64_t amount = 0;
    std::optional<std::string> job_id;
    std::optional<int64_t> round;
    std::optional<std::string> grant_id;
    std::string note;
  };

  // sqlite_enqueue.cpp
  write_answer on(const enqueue_write& x, bool repeated);
  write_answer on(const enqueue_batch_write& x, bool repeated);
  /// Expects a write that was checked.
  write_answer add(const enqueue_write& x, bool repeated);
  std::optional<enqueued> earlier_try(const enqueue_write& x);
  std::optional<write_answer> same_key(const enqueue_write& x);
  enqueued answer_to(const enqueue_write& x, job known, enqueue_kind kind);
  void insert_scrap(const scrap& x);
  job insert_job(const enqueue_write& x);

  // sqlite_claim.cpp
  write_answer on(const claim_write& x, bool repeated);
  write_answer on(const heartbeat_write& x, bool repeated);
  write_answer on(const progress_write& x, bool repeated);
  /// `paused`: which of its types are left out for that.
  std::vector<lane> lanes_of(const claim_write& x,
                             std::vector<std::string>& paused);
  uint32_t room_for(const claimable_type& x);
  std::vector<job> take_due(const claim_write& x, std::vector<lane>& lanes);
  void take_level(const claim_write& x, int64_t priority,
                  std::vector<lane>& lanes, std::vector<job>& out);
  /// How many of each lane are among the first `limit` of a priority.
  std::vector<uint32_t> shares(const std::vector<lane*>& lanes,
                               int64_t priority, uint32_t limit);
  /// Starts the first `count` due jobs of a type and priority.
  void start(const claim_write& x, const std::string& type, int64_t priority,
             uint32_t count, std::vector<job>& out);
  std::vector<job> claimed_with(const claim_write& x);
  void look_ahead(const std::vector<lane>& lanes, bool full, claimed& result);

  // sqlite_history.cpp
  write_answer on(const prune_write& x, bool repeated);

  // sqlite_settle.cpp
  write_answer on(const settle_write& x, bool repeated);
  write_answer on(const rescue_write& x, bool repeated);
  /// The common end: COMPLETED, and nothing has happened to the job since it
  /// was claimed. Empty, and nothing done, when it is not that.
  std::optional<completed> complete_as_claimed(const settle_write& x);
  std::optional<run_row> find_run(int64_t seq, int64_t run);
  bool was_settled(int64_t seq, int64_t run);
  void end_run(const run_row& row, run_end end);
  void finish(const run_row& row, const run_end& end, timestamp at);
  /// Counts a job that has ended, or (-1) is no longer ended.
  void count_finished(const std::string& type, std::string_view outcome,
                      int64_t jobs = 1);
  std::string last_error_of(int64_t seq);
  void put_back(const run_row& row, const run_end& end, timestamp at);
  void note_attempt(const run_row& row, const run_end& end, timestamp at);
  int64_t deaths_of(int64_t seq);
  void rescue(const run_row& row);

  // sqlite_effects.cpp
  /// False, and nothing stored, when the target of one of them is gone.
  bool store_effects(const std::vector<effect>& effects,
                     const std::string& job_id);
  bool store(const knowledge_card& x, const std::string& job_id);
  bool store(const til_entry& x, const std::string& job_id);
  bool store(const recall_entry& x, const std::string& job_id);
  bool store(const book_pages& x, const std::string& job_id);
  bool store(const page_image& x, const std::string& job_id);

  // sqlite_steps.cpp
  write_answer on(const step_write& x, bool repeated);
  std::optional<int64_t> step_run(const step_write& x);
  void insert_step(const step_write& x);

  // sqlite_books.cpp
  void insert_content(const content& x);

  // sqlite_ledger.cpp
  write_answer on(const grant_write& x, bool repeated);
  int64_t balance_of(const std::string& user_id);
  void book(const ledger_line& x);
  /// Takes the price, unless it is taken. Refuses when the balance is short.
  std::optional<refusal> charge(const std::string& job_id,
                                const std::string& user_id, int64_t price);
  std::optional<refusal> charge_again(int64_t seq);
  /// Gives back what was taken for the job.
  void refund(int64_t seq);
  std::optional<priced_job> priced(int64_t seq);
  /// What was taken and not given back, and how often it was taken.
  std::pair<int64_t, int64_t> taken_for(const std::string& job_id);

  // sqlite_failures.cpp
  write_answer on(const bulk_retry_write& x, bool repeated);

  // sqlite_types.cpp
  write_answer on(const pause_write& x, bool repeated);

  // sqlite_san.cpp
  write_answer on(const summary_write& x, bool repeated);

  // sqlite_requests.cpp
  write_answer on(const cancel_write& x, bool repeated);
  write_answer on(const retry_write& x, bool repeated);
  write_answer on(const delete_scrap_write& x, bool repeated);
  bool key_is_taken(const std::optional<std::string>& unique_key);
  void reopen(int64_t seq, const std::string& type, job_status status);

  /// `changed`, with the job as it is now.
  write_answer changed_job(int64_t seq);

  sqlite_connection& db_;
  timestamp now_;
  bool each_alone_;
  /// By type and outcome, since the last `store_counts`.
  std::map<std::pair<std::string, std::string>, int64_t> finished_;
};

} // namespace reeve
