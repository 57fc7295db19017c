// persistence/postgres_writer.hpp -- the writes of one PostgreSQL transaction.
#pragma once

#include "persistence/job_store.hpp"
#include "persistence/postgres_session.hpp"

#include <map>
#include <span>
#include <utility>

namespace reeve {

/// A write and the place of its answer.
struct postgres_item {
  const write_entry* entry = nullptr;
  write_answer* answer = nullptr;
};

/// Applies many writes as a few set-based statements inside an open
/// transaction. Rows of `running` and `queue` are locked in the order of `seq`,
/// so that nodes rarely deadlock.
class postgres_writer {
public:
  /// Thrown when one write of several must leave no trace: the caller repeats
  /// the batch write by write.
  struct needs_savepoints {};

  /// `has_savepoint`: the caller undoes what a refused write did.
  postgres_writer(postgres_session& session, pqxx::transaction_base& tx,
                  bool has_savepoint)
    : session_(session), tx_(tx), has_savepoint_(has_savepoint) {
    // nop
  }

  /// Fills in all answers. Throws what libpqxx throws, and needs_savepoints.
  void apply(std::span<const postgres_item> items);

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
  using held_runs = std::map<int64_t, std::pair<int64_t, bool>>;

  template <class T>
  static std::vector<slot<T>> pick(std::span<const postgres_item> items);

  // postgres_enqueue.cpp
  void enqueue(const std::vector<slot<enqueue_write>>& singles,
               const std::vector<slot<enqueue_batch_write>>& batches);
  void add(std::vector<arrival>& arrivals);
  void insert_jobs(const std::vector<arrival*>& open);
  void look_up(const std::vector<arrival*>& open);
  void insert_scraps(const std::vector<arrival>& arrivals);

  // postgres_claim.cpp
  void claim(const slot<claim_write>& x);
  void heartbeat(const slot<heartbeat_write>& x);
  void progress(const std::vector<slot<progress_write>>& slots);

  // postgres_settle.cpp
  void settle(const std::vector<slot<settle_write>>& slots);
  static run_end decide(const settle_write& x, bool cancel_requested);
  void settle_again(const std::vector<const slot<settle_write>*>& lost);
  void store_cards(const std::vector<const knowledge_card*>& cards,
                   std::vector<run_end>& ends);

  // postgres_ends.cpp
  void rescue(const slot<rescue_write>& x);
  void end_runs(const std::vector<run_end>& ends);
  void finish(const std::vector<run_end>& ends);
  void put_back(const std::vector<run_end>& ends);
  void note_attempts(const std::vector<run_end>& ends);

  // postgres_requests.cpp
  void cancel(const std::vector<slot<cancel_write>>& slots);
  void retry(const std::vector<slot<retry_write>>& slots);
  void delete_scraps(const std::vector<slot<delete_scrap_write>>& slots);
  std::map<std::string, job> jobs_by_id(const std::vector<std::string>& ids);

  /// The jobs as they are now, in the order of `seqs`.
  std::vector<job> jobs_by_seq(const std::vector<int64_t>& seqs);

  pqxx::result run(const postgres_statement& what,
                   const pqxx::params& params = {}) {
    return session_.run(tx_, what, params);
  }

  postgres_session& session_;
  pqxx::transaction_base& tx_;
  bool has_savepoint_;
};

/// What a claim runs; parameters: limit, owner, lease in milliseconds, token.
extern const postgres_statement claim_statement;

/// `x` in milliseconds, so that no sum of it and an instant overflows.
int64_t bounded(std::chrono::milliseconds x);

} // namespace reeve
