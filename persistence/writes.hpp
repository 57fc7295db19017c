// persistence/writes.hpp -- everything a store can be asked to change, and its
// answers.
#pragma once

#include "persistence/reads.hpp"

#include <chrono>
#include <string>
#include <variant>
#include <vector>

namespace reeve {

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
  /// The user's balance is smaller than the price.
  insufficient_funds,
  /// Another transaction holds what a run's write needs; nothing was changed,
  /// ask again. (What a client asks for becomes `conflict` instead.)
  blocked,
};

std::string_view to_string(refusal_code x);

struct refusal {
  refusal_code code = refusal_code::invalid_argument;
  /// For people: what was refused and why.
  std::string message;
};

// -- writes -------------------------------------------------------------------

/// Adds a job, its scrap or book when there is one, and takes its price, in one
/// transaction. Ids are made by the caller, so that a repeat after a commit in
/// doubt adds nothing. Fails with `insufficient_funds`: then nothing is added.
struct enqueue_write {
  std::string id;
  std::string type;
  std::string target_id;
  std::optional<std::string> user_id;
  json_text payload = json_text::empty_object();
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
  /// As `read_trace` made it.
  trace_context trace;
  std::optional<scrap> new_scrap;
  std::optional<content> new_content;
  /// Tokens taken off the balance of `user_id` in advance; 0: free. Not taken
  /// for a job that was there before (`deduplicated`, `replayed`).
  int64_t price = 0;
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

/// A type a node can run now, and how many more of it.
struct claimable_type {
  std::string type;
  uint32_t limit = 1;
  /// Most runs of it on all nodes together; 0: as many as they like.
  uint32_t across = 0;

  bool operator==(const claimable_type&) const = default;
};

/// Takes due jobs off the queue: increments `run` and `attempts`. Jobs of
/// paused types and of types that are not listed stay. Answer: `claimed`.
struct claim_write {
  lease_owner owner;
  std::vector<claimable_type> types;
  /// At most this many; 0 only asks when the next job is due.
  uint32_t limit = 1;
  std::chrono::milliseconds lease{30'000};
  /// Unique per owner. A claim whose commit was in doubt is found again by it.
  int64_t token = 0;
};

/// What a run makes beside its result; stored in the transaction of the step
/// or completion that it comes with. When what it belongs to is gone (the
/// card's scrap, the page's book, the entry's summary), the completion becomes
/// FAILED with `target_gone_message`, and the step is refused (`not_found`).
using effect =
  std::variant<knowledge_card, til_entry, recall_entry, book_pages, page_image>;

/// Ends one run of a job, or touches nothing (`lease_lost`) when job, run and
/// PROCESSING no longer hold. Answer: `completed` for a success of which no
/// more need be said, else `changed`.
struct settle_write {
  /// The job as it was claimed; never null. May keep the other runs of its
  /// bundle in memory.
  job_ptr claimed;
  lease_owner owner;
  run_outcome outcome = run_outcome::completed;
  verdict decision = verdict::complete;
  /// For `complete`.
  json_text result;
  /// For `complete`: stored in the same transaction.
  std::vector<effect> effects;
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

/// Commits a step of a run with its effects, and adds its usage to the job's.
/// A step that is there already (job, name, input hash) stays as it is. Answer:
/// `changed`; `lease_lost`; `not_found` when an effect's target is gone.
struct step_write {
  int64_t seq = 0;
  int64_t run = 0;
  job_step step;
  std::vector<effect> effects;
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

/// FAILED or CANCELLED → PENDING with all attempts given back; a refunded price
/// is taken again. Answer: `changed`; `not_found`; `conflict` for any other
/// state, or when another unfinished job holds the same unique key;
/// `insufficient_funds`.
struct retry_write {
  std::string id;
};

/// Retries the newest FAILED jobs that fit, a page at a time: at most `limit`,
/// only those with a smaller `seq` than `before_seq` that failed no later than
/// `failed_until`, so that a job which fails again meanwhile is not retried
/// twice. Jobs that cannot be retried (their unique key or the price is
/// missing) are passed over. Answer: `bulk_retried`.
struct bulk_retry_write {
  failure_filter filter;
  std::optional<int64_t> before_seq;
  /// Empty: by the store's clock, until now; the answer says when that was.
  std::optional<timestamp> failed_until;
  uint32_t limit = 500;
};

/// Stops or resumes claims of a type on all nodes. Answer: `done`.
struct pause_write {
  std::string type;
  bool paused = true;
  /// For people; empty when resumed.
  std::string reason;
};

/// Adds a summary, or finds the one of the same user, date and time zone.
/// Answer: `stored_summary`.
struct summary_write {
  daily_summary what;
};

/// Adds tokens to a balance (or takes some off: a balance never goes below 0,
/// else `insufficient_funds`). The same `id` counts once. Answer: `granted`.
struct grant_write {
  /// A UUID.
  std::string id;
  std::string user_id;
  int64_t amount = 0;
  std::string note;
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

/// Deletes jobs of a type that ended (completed, failed or cancelled) more than
/// `older_than` ago by the store's clock, with their attempts and steps; what
/// they made (cards, books, lines of the ledger) stays, and so does the job of
/// a book that failed: nothing else tells that it did. Looks at one page, in
/// the order of creation, so that no transaction is long. Answer: `pruned`.
struct prune_write {
  std::string type;
  std::chrono::milliseconds older_than{0};
  /// Only those behind it; 0: from the first job on.
  int64_t after_seq = 0;
  /// Jobs on the page, old enough or not.
  uint32_t limit = 500;
};

/// Answer: `done`; `not_found`.
struct delete_scrap_write {
  std::string id;
};

using write =
  std::variant<enqueue_write, enqueue_batch_write, progress_write, step_write,
               heartbeat_write, settle_write, cancel_write, retry_write,
               bulk_retry_write, rescue_write, prune_write, delete_scrap_write,
               pause_write, summary_write, grant_write, claim_write>;

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
  /// What is left when the write named a price.
  std::optional<int64_t> balance;
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
  /// Paused types among those it looked at: not of a claim that is found again,
  /// nor where another limit has left no room.
  std::vector<std::string> paused;
};

struct changed {
  reeve::job job;
};

/// The end of a run that succeeded. Of many short runs nobody looks at the jobs
/// that they leave behind: they are put together for those who do.
struct completed {
  /// As it ran; never null.
  job_ptr claimed;
  json_text result;
  int64_t version = 0;
  timestamp finished_at;
  /// Of all its steps, in all its runs.
  usage used;

  /// As the run's end left the job.
  job now() const;
};

/// A lease this node still holds.
struct held_lease {
  int64_t seq = 0;
  int64_t run = 0;
  bool cancel_requested = false;
  /// Of the claim that took the job.
  int64_t claim_token = 0;

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

struct pruned {
  /// How many were deleted.
  uint32_t jobs = 0;
  /// For the next page; empty: younger jobs follow, or none.
  std::optional<int64_t> next_after_seq;
};

struct bulk_retried {
  /// As they are now.
  std::vector<job> jobs;
  /// How many fitted on this page, passed over or not.
  uint32_t matched = 0;
  /// For the next page; empty: this was the last.
  std::optional<int64_t> next_before_seq;
  timestamp failed_until;
};

struct stored_summary {
  daily_summary what;
  bool created = true;
};

struct granted {
  int64_t balance = 0;
};

struct done {};

using write_answer = std::variant<refusal, enqueued, enqueued_batch, claimed,
                                  changed, completed, renewed, rescued, pruned,
                                  bulk_retried, stored_summary, granted, done>;

/// A write and whether an earlier try of it may have been committed: then the
/// store looks before it repeats, so that the caller gets the answer that the
/// first try would have given.
struct write_entry {
  write what;
  bool repeated = false;
};

} // namespace reeve
