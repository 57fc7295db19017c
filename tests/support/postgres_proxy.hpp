// tests/support/postgres_proxy.hpp -- stands between a client and PostgreSQL,
// and can behave as a broken network or a pooler does.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

namespace reeve {

/// Forwards one TCP connection after the other to a server's Unix socket. Ends
/// with the object.
class postgres_proxy {
public:
  /// `folder` has the server's socket. Throws std::runtime_error.
  explicit postgres_proxy(const std::filesystem::path& folder);

  postgres_proxy(const postgres_proxy&) = delete;
  postgres_proxy& operator=(const postgres_proxy&) = delete;
  ~postgres_proxy();

  uint16_t port() const {
    return port_;
  }

  /// From now on nothing arrives at either end, and neither is told.
  void swallow() {
    swallows_ = true;
  }

  /// Runs `sql` in the client's session, between two of its statements; the
  /// client hears nothing of it. Returns once that is done.
  void run_aside(const std::string& sql);

private:
  void serve();
  void forward(int client);
  void run_injected(int server);

  std::filesystem::path socket_;
  int doorman_ = -1;
  uint16_t port_ = 0;
  std::atomic<bool> stops_ = false;
  std::atomic<bool> swallows_ = false;
  /// Set by `run_aside`, and cleared when it ran.
  std::atomic<const std::string*> injected_ = nullptr;
  // Last: it uses the others.
  std::thread thread_;
};

} // namespace reeve
