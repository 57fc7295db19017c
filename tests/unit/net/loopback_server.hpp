// tests/unit/net/loopback_server.hpp -- a real server on 127.0.0.1 whose
// answers a test writes byte by byte.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace reeve::net::test {

/// Serves one connection after the other, one request on each.
class loopback_server {
public:
  /// What the script of a request may do.
  class peer {
  public:
    explicit peer(int fd) : fd_(fd) {
      // nop
    }

    /// False once the client is gone.
    bool send(std::string_view bytes);

    /// True when the client closes within `milliseconds`.
    bool closes_within(int milliseconds);

    /// Blocks until the client closes.
    void wait_for_close();

  private:
    int fd_;
  };

  using script = std::function<void(peer&)>;

  explicit loopback_server(script run);
  ~loopback_server();

  loopback_server(const loopback_server&) = delete;
  loopback_server& operator=(const loopback_server&) = delete;

  std::string url(std::string_view path = "/") const;

  uint16_t port() const noexcept {
    return port_;
  }

  /// The requests so far, head and body.
  std::vector<std::string> requests() const;

private:
  void serve();

  script run_;
  uint16_t port_ = 0;
  int listener_; // after port_, which is set with it
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

/// A port whose backlog is full: connecting to it takes forever.
class full_port {
public:
  full_port();
  ~full_port();

  full_port(const full_port&) = delete;
  full_port& operator=(const full_port&) = delete;

  std::string url() const;

private:
  uint16_t port_ = 0;
  std::vector<int> sockets_;
};

/// A port where nobody listens.
uint16_t closed_port();

} // namespace reeve::net::test
