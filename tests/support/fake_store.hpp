// tests/support/fake_store.hpp -- a store in memory whose connection breaks
// where the test says.
#pragma once

#include "support/fake_database.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reeve::test {

class fake_store : public job_store {
public:
  explicit fake_store(fake_database_ptr db) : db_(std::move(db)) {
    // nop
  }

  std::string_view backend() const override;
  void reconnect() override;
  void announce() override;
  void expect_claims() override;
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

private:
  write_answer apply_one(const write_entry& entry);
  write_answer handle(const enqueue_write& x, bool repeated);
  write_answer handle(const enqueue_batch_write& x, bool repeated);
  write_answer handle(const progress_write& x, bool repeated);
  write_answer handle(const step_write& x, bool repeated);
  write_answer handle(const heartbeat_write& x, bool repeated);
  write_answer handle(const settle_write& x, bool repeated);
  write_answer handle(const cancel_write& x, bool repeated);
  write_answer handle(const retry_write& x, bool repeated);
  write_answer handle(const bulk_retry_write& x, bool repeated);
  write_answer handle(const rescue_write& x, bool repeated);
  write_answer handle(const prune_write& x, bool repeated);
  write_answer handle(const delete_scrap_write& x, bool repeated);
  write_answer handle(const pause_write& x, bool repeated);
  write_answer handle(const summary_write& x, bool repeated);
  write_answer handle(const grant_write& x, bool repeated);
  write_answer handle(const claim_write& x, bool repeated);
  enqueued answer_to(const enqueue_write& x, const job& what,
                     enqueue_kind kind);
  /// The job waits again, as an operator asked.
  void reopen(job& what);
  bool key_is_held(const job& x) const;
  void touch(job& x);
  void before_read();

  fake_database_ptr db_;
};

} // namespace reeve::test
