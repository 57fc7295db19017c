// persistence/job_store.hpp -- what a store must be able to do, in domain
// words. PostgreSQL and SQLite implement it and pass one conformance suite.
#pragma once

#include "persistence/job.hpp"

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace reeve {

/// Thrown when the database as a whole cannot answer: connection lost, server
/// starting, disk full, lock held too long. Nothing that was sent is known to
/// have happened or not to have happened; call `reconnect` and repeat with
/// `repeated` set. It is the only exception that leaves a store.
class store_unavailable : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Why a store refused one write, cut by what the caller can do about it.
enum class refusal_code : uint8_t {
  /// A value the store cannot keep (a constraint, U+0000, invalid UTF-8).
  invalid_argument = 1,
  not_found,
  /// The job's state forbids this transition.
  conflict,
  /// The run no longer owns its job; drop its result.
  lease_lost,
  /// The idempotency key was used before with another request.
  key_reused,
};

std::string_view to_string(refusal_code x);

struct refusal {
  refusal_code code = refusal_code::invalid_argument;
  /// For people: what was refused and why.
  std::string message;
};

// -- writes -------------------------------------------------------------------

/// Adds a job, and its scrap when there is one, in one transaction. Ids are
/// made by the caller, so that a repeat after a commit in doubt adds nothing.
struct enqueue_write {
  std::string id;
  std::string type;
  std::string target_id;
  std::optional<std::string> user_id;
  nlohmann::json payload = nlohmann::json::object();
  int32_t priority = 0;
  /// Empty: due at once, by the store's clock.
  std::optional<timestamp> run_at;
  uint32_t max_attempts = 3;
  /// While a job with this key is unfinished, that job is the answer.
  std::optional<std::string> unique_key;
  /// The client's Idempotency-Key, made unique per caller by the gateway.
  std::optional<std::string> idempotency_key;
  /// Digest of the request that came with the key.
  std::optional<std::string> idempotency_hash;
  std::optional<scrap> new_scrap;
};

/// Answer: `enqueued`, one for each member, in order. All or none.
struct enqueue_batch_write {
  std::vector<enqueue_write> jobs;
};

/// Who holds leases. `incarnation` grows with each start of the same node.
struct lease_owner {
  std::string node;
  int64_t incarnation = 0;

  /// `node#incarnation`, as stored. A node's name has no `#`.
  std::string str() const {
    return node + '#' + std::to_string(incarnation);
  }
};

/// Takes due jobs off the queue: increments `run` and `attempts`. Answer:
/// `claimed`.
struct claim_write {
  lease_owner owner;
  /// At most this many; 0 only asks when the next job is due.
  uint32_t limit = 1;
  std::chrono::milliseconds lease{30'000};
  /// Unique per owner. A claim whose commit was in doubt is found again by it.
  int64_t token = 0;
};

/// Ends one run of a job, or touches nothing (`lease_lost`) when job, run and
/// PROCESSING no longer hold. Answer: `changed`.
struct settle_write {
  /// The job as it was claimed.
  job claimed;
  lease_owner owner;
  run_outcome outcome = run_outcome::completed;
  verdict decision = verdict::complete;
  /// For `complete`.
  nlohmann::json result;
  /// For `complete`: stored in the same transaction. A card whose scrap is
  /// gone turns the completion into FAILED with `target_gone_message`.
  std::optional<knowledge_card> card;
  /// For every other verdict. Made storable by the store, which cannot fail
  /// on it: valid UTF-8, no U+0000, at most 1,000 code points and `...`.
  std::string error;
  std::string why;
  /// For `retry` and `retry_unspent`: due this long from now.
  std::chrono::milliseconds delay{0};
};

/// Notes how far a run has come. Answer: `changed`, or `lease_lost`.
struct progress_write {
  int64_t seq = 0;
  int64_t run = 0;
  int percent = 0;
  std::string message;
};

/// Renews all leases of a node in one statement. Answer: `renewed`.
struct heartbeat_write {
  lease_owner owner;
  std::chrono::milliseconds lease{30'000};
};

/// PENDING → CANCELLED, or marks a PROCESSING job `cancel_requested`. Answer:
/// `changed`; `not_found`; `conflict` for a finished job.
struct cancel_write {
  std::string id;
};

/// FAILED or CANCELLED → PENDING with all attempts given back. Answer:
/// `changed`; `not_found`; `conflict` for any other state, or when another
/// unfinished job holds the same unique key.
struct retry_write {
  std::string id;
};

/// Returns stale jobs: leases of older incarnations of `owner.node` at once,
/// those of other nodes when expired by the store's clock. The lost run keeps
/// its attempt: with attempts left the job is PENDING and due at once
/// (`reason` = `rescued`), without it is FAILED. Answer: `rescued`.
struct rescue_write {
  lease_owner owner;
  /// At most this many jobs, so that no sweep holds the store for long.
  uint32_t limit = 500;
};

/// Answer: `done`; `not_found`.
struct delete_scrap_write {
  std::string id;
};

using write =
  std::variant<enqueue_write, enqueue_batch_write, progress_write,
               heartbeat_write, settle_write, cancel_write, retry_write,
               rescue_write, delete_scrap_write, claim_write>;

// -- answers to writes --------------------------------------------------------

enum class enqueue_kind : uint8_t {
  created,
  /// An unfinished job with the same `unique_key`.
  deduplicated,
  /// The job that an earlier request with the same idempotency key made.
  replayed,
};

struct enqueued {
  reeve::job job;
  enqueue_kind kind = enqueue_kind::created;
  /// The scrap's id when one was added (or replayed).
  std::optional<std::string> scrap_id;
};

struct enqueued_batch {
  std::vector<enqueued> jobs;
};

struct claimed {
  std::vector<job> jobs;
  /// How long until the next job that is not due yet; empty: none waits.
  std::optional<std::chrono::milliseconds> next_due_in;
  /// More due jobs may be waiting (`limit` was reached).
  bool more = false;
};

struct changed {
  reeve::job job;
};

/// A lease this node still holds.
struct held_lease {
  int64_t seq = 0;
  int64_t run = 0;
  bool cancel_requested = false;

  bool operator==(const held_lease&) const = default;
};

struct renewed {
  std::vector<held_lease> leases;
};

struct rescued {
  /// As they are now: PENDING or FAILED.
  std::vector<job> jobs;
  bool more = false;
};

struct done {};

using write_answer = std::variant<refusal, enqueued, enqueued_batch, claimed,
                                  changed, renewed, rescued, done>;

/// A write and whether an earlier try of it may have been committed: then the
/// store looks before it repeats, so that the caller gets the answer that the
/// first try would have given.
struct write_entry {
  write what;
  bool repeated = false;
};

// -- reads --------------------------------------------------------------------

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

/// One connection to a database. Not thread-safe: one thread uses it at a
/// time. Every call may throw `store_unavailable`.
class job_store {
public:
  virtual ~job_store() = default;

  /// `postgresql` or `sqlite`.
  virtual std::string_view backend() const = 0;

  /// Drops the connection, if any, and makes a new one.
  virtual void reconnect() = 0;

  /// Applies all writes in one transaction and commits: the answers, in the
  /// order of the writes, are true once this returns. A write that is refused
  /// changes nothing and costs the others nothing. Within one batch enqueues
  /// come first, then progress, settlements and the rest, and claims last, so
  /// that a batch may claim what it adds.
  virtual std::vector<write_answer> apply(
    const std::vector<write_entry>& batch) = 0;

  virtual std::optional<job> find_job(const std::string& id) = 0;
  /// Newest first.
  virtual std::vector<job> list_jobs(const job_filter& filter) = 0;
  /// Oldest run first; empty also when there is no such job.
  virtual std::vector<attempt> attempts_of(const std::string& job_id) = 0;
  virtual std::optional<scrap> find_scrap(const std::string& id) = 0;
  virtual std::optional<knowledge_card> find_card(const std::string& id) = 0;
  /// Newest first; at most `limit`.
  virtual std::vector<knowledge_card> cards_of_scrap(
    const std::string& scrap_id, uint32_t limit) = 0;
  virtual store_stats stats() = 0;

  /// Adds a key; its `id`, `role` and `digest` were made by the caller.
  virtual void add_api_key(const api_key& x) = 0;
  /// A key that was not revoked.
  virtual std::optional<api_key> find_api_key(const std::string& digest) = 0;
  /// Oldest first, the revoked ones too.
  virtual std::vector<api_key> list_api_keys() = 0;
  /// False when there is none with this id that is in force.
  virtual bool revoke_api_key(const std::string& id) = 0;

  /// Cheap round trip: throws when the database does not answer.
  virtual void ping() = 0;
};

// -- opening ------------------------------------------------------------------

/// A database URL the node cannot use; the message names what is allowed. It
/// never contains a password.
class bad_database_url : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The schema is newer than this binary, or a migration's checksum differs.
class schema_mismatch : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Hears of jobs that other processes add.
class wake_source {
public:
  virtual ~wake_source() = default;

  /// Waits; true when something was announced. Throws `store_unavailable`.
  virtual bool wait(std::chrono::milliseconds longest) = 0;
};

/// Makes stores for one `database.url`: `sqlite:PATH`, `postgresql://…` or
/// `postgres://…`. Throws `bad_database_url`.
class store_factory {
public:
  virtual ~store_factory() = default;

  static std::unique_ptr<store_factory> make(const std::string& url);

  virtual std::string_view backend() const = 0;

  /// The URL with its password masked, for logs and `--print-config`.
  virtual std::string masked_url() const = 0;

  /// Brings the schema up to date under a lock: several nodes may start at
  /// once. Returns how many migrations ran. Throws `schema_mismatch` or
  /// `store_unavailable`.
  virtual int migrate() = 0;

  /// A new connection. Throws `store_unavailable`.
  virtual std::unique_ptr<job_store> connect() = 0;

  /// A connection of its own that hears of new jobs, or nullptr when the
  /// database announces nothing. Throws `store_unavailable`.
  virtual std::unique_ptr<wake_source> listen() {
    return nullptr;
  }

  /// Claims the node's name for this process until the result is destroyed,
  /// or returns nullptr when another live process holds it: two nodes of one
  /// name would take each other's jobs for their own dead incarnation's.
  virtual std::unique_ptr<class node_lock> lock_node(
    const std::string& node_name) = 0;
};

class node_lock {
public:
  virtual ~node_lock() = default;
};

} // namespace reeve
