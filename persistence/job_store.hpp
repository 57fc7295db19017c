// persistence/job_store.hpp -- what a store must be able to do, in domain
// words. PostgreSQL and SQLite implement it and pass one conformance suite.
#pragma once

#include "persistence/reads.hpp"
#include "persistence/writes.hpp"

#include <chrono>
#include <map>
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

std::map<std::string, size_t> count_by_type(const std::vector<job>& jobs);

/// A claim that is committed and not read yet. To read a thousand jobs takes
/// milliseconds, for which the next claim need not wait: any thread may do it.
class unread_claim {
public:
  virtual ~unread_claim() = default;

  /// How many jobs it took.
  virtual size_t size() const = 0;

  /// The same by type.
  virtual std::map<std::string, size_t> count_by_type() const = 0;

  /// Once. Leaves out what cannot be understood.
  virtual claimed read() = 0;
};

using unread_claim_ptr = std::shared_ptr<unread_claim>;

using claim_answer = std::variant<unread_claim_ptr, refusal>;

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

  /// As `apply` with this claim alone, but for the reading.
  virtual claim_answer claim(const claim_write& what, bool repeated);

  /// Spends now the time that the first claim on a connection takes longer than
  /// those after it.
  virtual void expect_claims() {
    // nop
  }

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
  /// Newest first, without embeddings; only cards with a smaller id when
  /// `before_id` is given: keyset paging, since ids grow with time.
  virtual std::vector<knowledge_card> list_cards(
    const std::optional<std::string>& before_id, uint32_t limit) = 0;
  virtual store_stats stats() = 0;

  // -- steps, failures and what keeps jobs waiting ----------------------------

  /// Oldest first; empty also when there is no such job.
  virtual std::vector<job_step> steps_of(const std::string& job_id) = 0;
  /// Steps made at or after `from` and before `to`; largest use first.
  virtual std::vector<usage_row> usage_between(timestamp from, timestamp to,
                                               usage_group by) = 0;
  /// FAILED jobs; the group with the newest failure first.
  virtual std::vector<error_group> error_groups(const failure_filter& filter,
                                                uint32_t limit) = 0;
  /// What a bulk retry would find: the exact count, and a sample.
  virtual failure_preview preview_failures(const failure_filter& filter) = 0;
  virtual std::optional<queue_facts> facts_about(const std::string& job_id) = 0;
  virtual std::vector<type_state> type_states() = 0;

  // -- SAN --------------------------------------------------------------------

  virtual std::optional<summary_view> find_summary(const std::string& id) = 0;
  /// The newest summary of that date; `user_id` empty: nobody's.
  virtual std::optional<summary_view> find_summary_of(
    const std::optional<std::string>& user_id, const std::string& date) = 0;
  /// Cards of one user made at or after `from` and before `to`, oldest first,
  /// with their embeddings.
  virtual std::vector<knowledge_card> cards_between(
    const std::optional<std::string>& user_id, timestamp from, timestamp to,
    uint32_t limit) = 0;
  /// Most similar first; of equals the older one.
  virtual std::vector<card_hit> similar_cards(const card_search& what) = 0;

  // -- books ------------------------------------------------------------------

  virtual std::optional<content> find_content(const std::string& id) = 0;
  /// Newest first, with their pages; `before_id` as for `list_cards`.
  virtual std::vector<content> list_contents(
    const std::optional<std::string>& before_id, uint32_t limit) = 0;
  virtual std::optional<page_image> find_image(const std::string& content_id,
                                               int number) = 0;
  /// An account nobody ever used has a balance of 0 and no entries.
  virtual account find_account(const std::string& user_id, uint32_t limit) = 0;

  // -- API keys ---------------------------------------------------------------

  /// Adds a key; its `id`, `role` and `digest` were made by the caller.
  virtual void add_api_key(const api_key& x) = 0;
  /// A key that was not revoked.
  virtual std::optional<api_key> find_api_key(const std::string& digest) = 0;
  /// Oldest first, the revoked ones too.
  virtual std::vector<api_key> list_api_keys() = 0;
  /// False when there is none with this id that is in force.
  virtual bool revoke_api_key(const std::string& id) = 0;

  /// Tells other nodes that there may be work for them: a hint, in a
  /// transaction of its own. Nothing to do where there are no other nodes.
  virtual void announce() {
    // nop
  }

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
