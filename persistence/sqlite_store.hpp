// persistence/sqlite_store.hpp -- the embedded store: one file, one process.
#pragma once

#include "persistence/embedding_index.hpp"
#include "persistence/job_store.hpp"
#include "persistence/sqlite_connection.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace reeve {

/// Where a store takes the time from; all nodes of a file share a machine.
using wall_clock = std::function<timestamp()>;

/// The machine's clock.
timestamp system_time();

/// A connection to a SQLite file that `store_factory::migrate` has made.
class sqlite_store final : public job_store {
public:
  /// Connects. Throws `store_unavailable`.
  explicit sqlite_store(std::string path, wall_clock clock = system_time);

  std::string_view backend() const override;
  void reconnect() override;
  std::vector<write_answer> apply(
    const std::vector<write_entry>& batch) override;
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
  void ping() override;

  /// The connection itself, for tests that need to break it. Throws
  /// `store_unavailable` when there is none.
  sqlite_connection& connection();

private:
  std::vector<write_answer> apply_once(const std::vector<write_entry>& batch,
                                       bool each_alone);
  /// Adds the cards that came in since the last search.
  void refresh_cards();
  std::vector<card_hit> found_cards(const card_search& what);

  std::string path_;
  wall_clock clock_;
  std::optional<sqlite_connection> connection_;
  embedding_index cards_;
};

/// `path` is what follows `sqlite:`. Throws `bad_database_url`.
std::unique_ptr<store_factory> make_sqlite_factory(const std::string& path);

} // namespace reeve
