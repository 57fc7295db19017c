// persistence/postgres_writer.hpp -- the writes of one PostgreSQL transaction.
#pragma once

#include "persistence/job_store.hpp"
#include "persistence/postgres_session.hpp"
#include "persistence/postgres_taken.hpp"

#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

namespace reeve {

/// A write and the place of its answer.
struct postgres_item {
  const write_entry* entry = nullptr;
  write_answer* answer = nullptr;
};

/// Applies many writes as a few set-based statements inside an open
/// transaction. Accounts are locked first, by user, then rows of `running` and
/// `queue` in the order of `seq`, so that nodes rarely deadlock.
class postgres_writer {
public:
  /// Thrown when one write of several must leave no trace: the caller repeats
  /// the batch write by write.
  struct needs_savepoints {};

  /// Thrown when COPY stopped at one of its rows: the caller repeats the batch
  /// without.
  struct copy_refused {};

  /// How jobs come in that have no key another job could hold.
  enum class arrivals_by : uint8_t {
    /// The database finds out whose id is taken.
    insert,
    /// Many at once are copied: faster, but all or none.
    copy,
  };

  /// COPY takes four more round trips than one statement and two more for its
  /// transaction, and the server half the work for each job: with 64 to 256
  /// jobs both are as fast, with 1,000 it takes two fifths less.
  static constexpr size_t fewest_to_copy = 64;

  /// An effect, and which step or end it comes with.
  struct owned_effect {
    size_t owner;
    const effect* what;
  };

  /// `has_savepoint`: the caller undoes what a refused write did.
  postgres_writer(postgres_session& session, pqxx::transaction_base& tx,
                  bool has_savepoint, arrivals_by way = arrivals_by::insert)
    : session_(session), tx_(tx), has_savepoint_(has_savepoint), way_(way) {
    // nop
  }

  /// Whether it is jobs that come in, perhaps with a claim that could take
  /// them, and then with runs that succeeded: one statement does all of it.
  static bool can_add_at_once(std::span<const postgres_item> items);

  /// If so. Returns which items have no answer yet: the claim, when other jobs
  /// are due, and jobs whose id is taken.
  std::vector<size_t> add_at_once(std::span<const postgres_item> items);

  /// Fills in all answers. Throws what libpqxx throws, and needs_savepoints.
  void apply(std::span<const postgres_item> items);

  /// Claims, in as many statements as it takes; `what` was checked.
  postgres_taken take(const claim_write& what);

private:
  /// An item of a known type.
  template <class T>
  struct slot {
    const T& what;
    bool repeated;
    write_answer& answer;
  };

  /// A job that comes in, alone or in a batch.
  struct arrival {
    const enqueue_write& what;
    bool repeated;
    /// Nothing but its id can be taken, nor what comes in the same write.
    bool keyless;
    std::variant<std::monostate, refusal, enqueued> result;
    /// This transaction added it (and not an earlier try of the same write).
    bool inserted = false;

    bool open() const {
      return std::holds_alternative<std::monostate>(result);
    }
  };

  /// How a run ends, once it is decided.
  struct run_end {
    int64_t seq = 0;
    int64_t run = 0;
    std::string node;
    run_outcome outcome = run_outcome::failed;
    verdict decision = verdict::fail;
    /// JSON.
    std::optional<std::string> result;
    /// Storable; empty keeps the job's last error.
    std::string error;
    std::string why;
    std::chrono::milliseconds delay{0};
    std::string_view reason;
  };

  /// Run number and whether a cancel was requested, by `seq`.
  using held_runs = std::unordered_map<int64_t, std::pair<int64_t, bool>>;

  /// A claim that comes with new jobs, which may start as they come in.
  struct starter {
    const claim_write* what;
    write_answer* answer;
    bool is_answered = false;
  };

  /// Runs that succeeded and bring nothing but their result.
  class completions;

  /// What a claim may take.
  struct claim_room {
    /// How many of each type.
    std::map<std::string, int64_t> types;
    /// Another node is claiming jobs of one of them.
    bool is_busy = false;
  };

  /// Balances by user. Who is not listed has no account.
  using balances = std::map<std::string, int64_t>;

  template <class T>
  static std::vector<slot<T>> pick(std::span<const postgres_item> items) {
    std::vector<slot<T>> result;
    for (const auto& item : items)
      if (const auto* what = std::get_if<T>(&item.entry->what))
        result.push_back({*what, item.entry->repeated, *item.answer});
    return result;
  }

  // postgres_enqueue.cpp
  static bool is_keyless(const enqueue_write& x);
  void enqueue(const std::vector<slot<enqueue_write>>& singles,
               const std::vector<slot<enqueue_batch_write>>& batches);
  void add(std::vector<arrival>& arrivals);
  void copy(std::vector<arrival*>& open);
  void place(std::vector<arrival*> open);
  void place_priced(const std::vector<arrival*>& priced);
  void place(arrival& x, int64_t seq, timestamp run_at, timestamp created_at);
  void look_up(const std::vector<arrival*>& open);
  void insert_scraps(const std::vector<arrival>& arrivals);
  void insert_contents(const std::vector<arrival>& arrivals);

  // postgres_insert.cpp
  void insert_jobs(const std::vector<arrival*>& open);

  // postgres_start.cpp
  static std::optional<starter> starter_of(
    std::span<const postgres_item> items);
  pqxx::result run_starting(pqxx::params&& values);
  void answer_starter(const pqxx::row& first,
                      const std::vector<const job*>& begun);

  // postgres_copy.cpp
  /// False when this user may not: nothing was done.
  bool copy_jobs(const std::vector<arrival*>& arrivals);

  // postgres_claim.cpp
  void claim(const slot<claim_write>& x);
  claim_room room_for(const claim_write& x);
  std::optional<claimed> claimed_before(const claim_write& x);
  bool take(const claim_write& x, std::map<std::string, int64_t> room,
            postgres_taken& result);
  void look_ahead(const claim_write& x, bool is_busy, claimed& result);
  void heartbeat(const slot<heartbeat_write>& x);
  void progress(const std::vector<slot<progress_write>>& slots);

  // postgres_steps.cpp
  void step(const std::vector<slot<step_write>>& slots);
  std::optional<refusal> store_step(const step_write& x);

  // postgres_effects.cpp
  std::set<size_t> store_effects(const std::vector<owned_effect>& all);
  std::set<size_t> find_gone(const std::vector<owned_effect>& all);
  void store(const std::vector<const knowledge_card*>& cards);
  void store(const til_entry& x);
  void store(const recall_entry& x);
  void store(const book_pages& x);
  void store(const page_image& x);

  // postgres_settle.cpp
  void settle(const std::vector<slot<settle_write>>& slots);
  std::vector<const slot<settle_write>*> complete(
    std::vector<const slot<settle_write>*> slots);
  std::vector<const slot<settle_write>*> end_one_way_or_another(
    const std::vector<const slot<settle_write>*>& slots);
  held_runs hold_runs(const std::vector<int64_t>& seqs);
  static run_end decide(const settle_write& x, bool cancel_requested);
  void settle_again(const std::vector<const slot<settle_write>*>& lost);

  // postgres_ends.cpp
  void rescue(const slot<rescue_write>& x);
  void end_runs(const std::vector<run_end>& ends);
  void finish(const std::vector<run_end>& ends);
  void put_back(const std::vector<run_end>& ends);
  void note_attempts(const std::vector<run_end>& ends);
  std::map<int64_t, std::string> last_errors(const std::vector<run_end>& ends);

  // postgres_requests.cpp
  void cancel(const std::vector<slot<cancel_write>>& slots);
  void retry(const std::vector<slot<retry_write>>& slots);
  std::map<int64_t, std::optional<refusal>> reopen(
    const std::vector<int64_t>& seqs);
  void delete_scraps(const std::vector<slot<delete_scrap_write>>& slots);
  std::map<std::string, job> jobs_by_id(const std::vector<std::string>& ids);

  // postgres_failures.cpp
  void bulk_retry(const slot<bulk_retry_write>& x);

  // postgres_history.cpp
  void prune(const slot<prune_write>& x);

  // postgres_types.cpp
  void pause(const slot<pause_write>& x);

  // postgres_san.cpp
  void add_summary(const slot<summary_write>& x);

  // postgres_ledger.cpp
  balances hold_accounts(const std::set<std::string>& users);
  void hold_accounts(std::span<const postgres_item> items);
  std::set<int64_t> paid_jobs(const std::vector<int64_t>& seqs);
  void charge(const std::vector<int64_t>& seqs);
  void refund();
  void grant(const slot<grant_write>& x);

  /// The jobs as they are now, in the order of `seqs`.
  std::vector<job> jobs_by_seq(const std::vector<int64_t>& seqs);

  pqxx::result run(const postgres_statement& what,
                   const pqxx::params& params = {}) {
    return session_.run(tx_, what, params);
  }

  postgres_session& session_;
  pqxx::transaction_base& tx_;
  bool has_savepoint_;
  arrivals_by way_;
  std::optional<starter> starter_;
  /// What the statement that starts a job ends besides.
  completions* completing_ = nullptr;
  /// Paid jobs that ended as FAILED or CANCELLED, by `seq`.
  std::vector<int64_t> to_refund_;
};

/// What a claim runs; parameters: limit, owner, lease in milliseconds, token,
/// types, how many of each, and rows to pass over.
extern const postgres_statement claim_statement;

/// What a rescue runs; parameters: owner, its node, its incarnation, limit.
extern const postgres_statement stale_runs_statement;

/// What new jobs run that may start as they come in; parameters: those of the
/// jobs, then types, owner, lease in milliseconds, token.
extern const postgres_statement start_jobs_statement;

/// What the end of runs that succeeded runs; parameters: seqs, runs, results.
extern const postgres_statement complete_statement;

/// `x` in milliseconds, so that no sum of it and an instant overflows.
int64_t bounded(std::chrono::milliseconds x);

} // namespace reeve
