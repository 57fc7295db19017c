// persistence/postgres_store.hpp -- the store for one or many nodes.
#pragma once

#include "persistence/job_store.hpp"
#include "persistence/postgres_session.hpp"

#include <memory>
#include <string>

namespace reeve {

/// A connection to a PostgreSQL 13+ database that `store_factory::migrate` has
/// prepared. The server's clock decides about leases and due times.
class postgres_store final : public job_store {
public:
  /// Connects. `conninfo` is libpq's keyword/value form. Throws
  /// `store_unavailable`.
  explicit postgres_store(std::string conninfo);

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
  /// Empty: the batch has a write that must be refused alone.
  std::optional<std::vector<write_answer>> apply_together(
    const std::vector<write_entry>& batch);
  std::vector<write_answer> apply_each(const std::vector<write_entry>& batch);

  postgres_session session_;
};

/// `url` starts with `postgresql://` or `postgres://`. Throws
/// `bad_database_url`.
std::unique_ptr<store_factory> make_postgres_factory(const std::string& url);

} // namespace reeve
