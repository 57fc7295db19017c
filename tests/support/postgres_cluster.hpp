// tests/support/postgres_cluster.hpp -- a PostgreSQL server of our own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace reeve {

/// A private server on a Unix socket in a temporary folder. It ends with the
/// object, and with the thread that started it, however that ends.
class postgres_cluster {
public:
  struct options {
    /// Costs time and protects against power loss only.
    bool fsync = false;
    int max_connections = 50;
  };

  /// Makes the cluster and starts the server. Throws std::runtime_error.
  postgres_cluster();
  explicit postgres_cluster(options settings);

  postgres_cluster(const postgres_cluster&) = delete;
  postgres_cluster& operator=(const postgres_cluster&) = delete;
  ~postgres_cluster();

  /// One that all tests of a process share.
  static postgres_cluster& shared();

  /// For `database.url`.
  std::string url(const std::string& database = "postgres") const;

  /// Makes a database, as a copy of `original` when there is one. Returns its
  /// name.
  std::string create_database(const std::string& original = "template1");

  /// Drops a database together with all connections to it.
  void drop_database(const std::string& name);

  /// Stops at once, as a crash does: the next start recovers.
  void stop_immediate();

  /// Starts a stopped server and waits until it answers.
  void start();

  /// Ends all other sessions in the database, or only those whose last
  /// statement was like `query` (an SQL pattern). Returns how many.
  int terminate_backends(const std::string& database,
                         const std::string& query = "%");

  /// What the server logged.
  std::filesystem::path log_file() const {
    return folder_ / "log";
  }

private:
  pid_t spawn(const std::string& program,
              const std::vector<std::string>& arguments) const;

  options settings_;
  std::filesystem::path folder_;
  std::filesystem::path programs_;
  pid_t server_ = -1;
  int databases_ = 0;
};

} // namespace reeve
