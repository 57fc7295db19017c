// tests/support/fake_database.hpp -- what fake stores keep, and the rules it
// keeps to.
#pragma once

#include "persistence/job_store.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
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
  /// By the job's `seq`, oldest first.
  std::map<int64_t, std::vector<job_step>> steps;
  std::map<std::string, type_state> types;
  std::map<std::string, daily_summary> summaries;
  /// Oldest first.
  std::vector<til_entry> tils;
  std::vector<recall_entry> recalls;
  /// With their pages, but what jobs know of them is filled in by reads.
  std::map<std::string, content> contents;
  std::map<std::pair<std::string, int>, page_image> images;
  std::map<std::string, int64_t> balances;
  /// Oldest first.
  std::vector<ledger_entry> ledger;
  /// What a job costs, by its `seq`.
  std::map<int64_t, int64_t> prices;
  /// Ids of the grants that were counted.
  std::set<std::string> grants;
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
  size_t announcements = 0;
  size_t expectations = 0;
  size_t reads = 0;

  job* find(const std::string& id);

  /// The job of a run that holds it, as `settle_write` and others name it.
  job* find_running(int64_t seq, int64_t run);

  bool is_paused(const std::string& type) const;

  /// Changes a balance and says so in the ledger; false when it is short.
  bool book(const std::string& user_id, ledger_kind kind, int64_t amount,
            const std::optional<std::string>& job_id, std::string note = "");

  /// Takes what the job costs, unless that is taken. False: balance short.
  bool charge(const job& x);

  /// Gives back what was taken for the job.
  void refund(const job& x);

  /// False, and nothing stored, when the target of one of them is gone.
  bool store(const std::vector<effect>& effects);

  /// What an earlier claim with this token took.
  std::map<int64_t, std::vector<int64_t>> claims;
  int64_t next_seq = 1;
  std::vector<api_key> keys;
};

using fake_database_ptr = std::shared_ptr<fake_database>;

/// The order of claims.
bool claimed_sooner(const job& a, const job& b);

/// Whether a job is one of the failures that are looked for.
bool fits(const job& x, const failure_filter& filter);

} // namespace reeve::test
