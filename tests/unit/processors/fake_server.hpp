// tests/unit/processors/fake_server.hpp -- the fake providers as a child
// process.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <sys/types.h>

namespace reeve::test {

/// Runs tests/fakes/providers.py until it is destroyed. The fake also
/// ends by itself when this process dies.
class fake_server {
public:
  fake_server();
  fake_server(const fake_server&) = delete;
  fake_server& operator=(const fake_server&) = delete;
  ~fake_server();

  /// `http://127.0.0.1:PORT`.
  const std::string& url() const noexcept {
    return url_;
  }

  /// `127.0.0.1:PORT`.
  std::string authority() const;

  /// What `GET /_calls` lists: the calls of the analysis service.
  nlohmann::json calls() const;

  /// The calls of all providers, oldest first.
  nlohmann::json provider_calls() const;

  /// Makes `faults` the only ones that are due; throws when they are none.
  void set_faults(const nlohmann::json& faults) const;

private:
  nlohmann::json ask(std::string method, std::string_view path,
                     std::string body = {}) const;
  void kill_child();

  pid_t pid_ = -1;
  int stdin_ = -1;
  std::string url_;
};

/// A port of 127.0.0.1 at which connections are refused.
int refusing_port();

/// The text of a file below tests/.
std::string read_file(const std::string& path);

} // namespace reeve::test
