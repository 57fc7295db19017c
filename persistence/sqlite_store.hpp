// persistence/sqlite_store.hpp -- the embedded store: one file, one process.
#pragma once

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
  store_stats stats() override;
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

  std::string path_;
  wall_clock clock_;
  std::optional<sqlite_connection> connection_;
};

/// `path` is what follows `sqlite:`. Throws `bad_database_url`.
std::unique_ptr<store_factory> make_sqlite_factory(const std::string& path);

} // namespace reeve
