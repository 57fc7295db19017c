// tests/support/fake_store.hpp -- a store in memory whose connection breaks
// where the test says.
#pragma once

#include "persistence/job_store.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reeve::test {

/// Where a call of `apply` loses its connection.
enum class fault : uint8_t {
  before_commit,
  /// The writes are in, but the caller does not learn it.
  after_commit,
};

/// What several fake stores share, and what the test looks at.
struct fake_database {
  // -- the data ---------------------------------------------------------------

  /// By `seq`.
  std::map<int64_t, job> jobs;
  std::map<std::string, scrap> scraps;
  std::map<std::string, knowledge_card> cards;
  /// The store's clock; stands still unless the test moves it.
  timestamp now{std::chrono::hours{1}};

  // -- faults -----------------------------------------------------------------

  /// By the number of the `apply`, from 1.
  std::map<size_t, fault> apply_faults;
  /// So many reads fail next.
  size_t read_faults = 0;
  /// Neither a new connection nor a round trip succeeds.
  bool down = false;
  /// Answers instead of the data when it returns something.
  std::function<std::optional<write_answer>(const write_entry&)> script;

  // -- what happened ----------------------------------------------------------

  /// One for each `apply`, faulty ones too.
  std::vector<std::vector<write_entry>> batches;
  size_t commits = 0;
  size_t reconnects = 0;
  size_t reads = 0;

  job* find(const std::string& id);

  /// The job of a run that holds it, as `settle_write` and others name it.
  job* find_running(int64_t seq, int64_t run);

  /// What an earlier claim with this token took.
  std::map<int64_t, std::vector<int64_t>> claims;
  int64_t next_seq = 1;
  std::vector<api_key> keys;
};

using fake_database_ptr = std::shared_ptr<fake_database>;

class fake_store : public job_store {
public:
  explicit fake_store(fake_database_ptr db) : db_(std::move(db)) {
    // nop
  }

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
  store_stats stats() override;
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
  write_answer handle(const heartbeat_write& x, bool repeated);
  write_answer handle(const settle_write& x, bool repeated);
  write_answer handle(const cancel_write& x, bool repeated);
  write_answer handle(const retry_write& x, bool repeated);
  write_answer handle(const rescue_write& x, bool repeated);
  write_answer handle(const delete_scrap_write& x, bool repeated);
  write_answer handle(const claim_write& x, bool repeated);
  void touch(job& x);
  void before_read();

  fake_database_ptr db_;
};

} // namespace reeve::test
