// persistence/postgres_store.hpp -- the store for one or many nodes.
#pragma once

#include "persistence/embedding_index.hpp"
#include "persistence/job_store.hpp"
#include "persistence/postgres_session.hpp"
#include "persistence/postgres_writer.hpp"

#include <chrono>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace reeve {

/// A connection to a PostgreSQL 13+ database that `store_factory::migrate` has
/// prepared. The server's clock decides about leases and due times.
class postgres_store final : public job_store {
public:
  /// Connects. `conninfo` is libpq's keyword/value form. Throws
  /// `store_unavailable`. `announcer` signs what it announces. Cards are
  /// searched in memory; when their table is larger than
  /// `max_cards_in_memory_bytes`, the extension `vector` searches it if the
  /// database has that.
  explicit postgres_store(std::string conninfo, std::string announcer = {},
                          int64_t max_cards_in_memory_bytes = int64_t{1} << 30);

  /// Plans what a node runs first, while nobody waits for it yet. Whatever
  /// speaks against that shows when it is run.
  void plan_boot();

  std::string_view backend() const override;
  void reconnect() override;
  std::vector<write_answer> apply(
    const std::vector<write_entry>& batch) override;
  claim_answer claim(const claim_write& what, bool repeated) override;
  void expect_claims() override;
  std::optional<job> find_job(const std::string& id) override;
  std::vector<job> list_jobs(const job_filter& filter) override;
  std::vector<attempt> attempts_of(const std::string& job_id) override;
  std::optional<scrap> find_scrap(const std::string& id) override;
  std::optional<knowledge_card> find_card(const std::string& id) override;
  std::vector<knowledge_card> cards_of_scrap(const std::string& scrap_id,
                                             uint32_t limit) override;
  std::vector<knowledge_card> list_cards(
    const std::optional<std::string>& before_id, uint32_t limit) override;
  store_stats stats() override;
  std::vector<job_step> steps_of(const std::string& job_id) override;
  std::vector<usage_row> usage_between(timestamp from, timestamp to,
                                       usage_group by) override;
  std::vector<error_group> error_groups(const failure_filter& filter,
                                        uint32_t limit) override;
  failure_preview preview_failures(const failure_filter& filter) override;
  std::optional<queue_facts> facts_about(const std::string& job_id) override;
  std::vector<type_state> type_states() override;
  std::optional<summary_view> find_summary(const std::string& id) override;
  std::optional<summary_view> find_summary_of(
    const std::optional<std::string>& user_id,
    const std::string& date) override;
  std::vector<knowledge_card> cards_between(
    const std::optional<std::string>& user_id, timestamp from, timestamp to,
    uint32_t limit) override;
  std::vector<card_hit> similar_cards(const card_search& what) override;
  std::optional<content> find_content(const std::string& id) override;
  std::vector<content> list_contents(
    const std::optional<std::string>& before_id, uint32_t limit) override;
  std::optional<page_image> find_image(const std::string& content_id,
                                       int number) override;
  account find_account(const std::string& user_id, uint32_t limit) override;
  void add_api_key(const api_key& x) override;
  std::optional<api_key> find_api_key(const std::string& digest) override;
  std::vector<api_key> list_api_keys() override;
  bool revoke_api_key(const std::string& id) override;
  void announce() override;
  void ping() override;

private:
  void plan(std::initializer_list<const postgres_statement*> statements);
  void plan_once();
  /// True for a while after a batch was blocked.
  bool was_blocked_lately() const;

  /// Whether a write of the batch, and not the connection, is the reason.
  bool is_against_a_write(const std::exception& err);

  /// As one statement, which is a transaction by itself. Empty: it takes more.
  std::optional<std::vector<write_answer>> apply_at_once(
    const std::vector<write_entry>& batch);
  std::vector<write_answer> apply_in_transactions(
    const std::vector<write_entry>& batch);
  /// Empty: the batch has a write that must be refused alone.
  std::optional<std::vector<write_answer>> apply_together(
    const std::vector<write_entry>& batch,
    postgres_writer::arrivals_by way = postgres_writer::arrivals_by::copy);

  std::vector<write_answer> apply_each(const std::vector<write_entry>& batch);

  // postgres_similar.cpp
  /// The schema of the extension `vector`; empty when it is not needed, not
  /// there or too old.
  std::optional<std::string> wanted_vector_schema();
  /// Empty: a card or `what` has an embedding that `vector` refuses.
  std::optional<std::vector<card_hit>> nearest_by_vector(
    const card_search& what, const std::string& schema);
  std::vector<card_hit> nearest_by_index(const card_search& what);
  void load_new_cards(pqxx::transaction_base& tx);

  postgres_session session_;
  /// Whether the session writes already: readers plan by the values.
  bool plans_once_ = false;
  /// When a lock stopped a batch for the last time.
  std::optional<std::chrono::steady_clock::time_point> blocked_at_;
  std::string announcer_;
  int64_t max_cards_in_memory_bytes_;
  /// `vector` stopped at an embedding; it would stop there again.
  bool vector_refuses_ = false;
  /// Empty until it is needed.
  embedding_index embeddings_;
  /// The last cards that were loaded, by `seq`.
  std::set<int64_t> recent_cards_;
};

/// `url` starts with `postgresql://` or `postgres://`. Throws
/// `bad_database_url`.
std::unique_ptr<store_factory> make_postgres_factory(const std::string& url);

} // namespace reeve
