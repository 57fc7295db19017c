// cli/api.hpp -- a node's HTTP API, as the client commands use it.
#pragma once

#include "cli/exit_code.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace reeve {

using ordered_json = nlohmann::ordered_json;

/// A request that did not succeed: what to tell people, and what to exit with.
class api_error : public std::runtime_error {
public:
  api_error(int status, exit_code code, const std::string& message)
    : std::runtime_error(message), status_(status), code_(code) {
    // nop
  }

  /// The answer's status; 0 when there was no answer.
  int status() const noexcept {
    return status_;
  }

  exit_code code() const noexcept {
    return code_;
  }

private:
  int status_;
  exit_code code_;
};

/// Names and values of a query; empty values are left out.
using query_fields = std::vector<std::pair<std::string, std::string>>;

/// `?name=value&…`, percent-encoded; empty when nothing has a value.
std::string query_string(const query_fields& fields);

/// One segment of a path, percent-encoded.
std::string path_segment(std::string_view text);

/// The text of a member; empty when it is absent or null. Numbers and truth
/// values are spelled out: a newer node may send what we do not know.
std::string text_of(const ordered_json& x, const std::string& member);

/// The number of a member; 0 when it is absent or none.
double number_of(const ordered_json& x, const std::string& member);

/// The array of a member, or an empty one.
const ordered_json& list_of(const ordered_json& x, const std::string& member);

/// Speaks to one node. Every call may throw `api_error`.
class api_client {
public:
  /// `url` with or without a path before `/api`; `key` may be empty.
  api_client(std::string url, std::string key);

  /// The answer's body, as it came.
  std::string get(const std::string& path, std::stop_token stop = {}) const;
  std::string post(const std::string& path, const std::string& body = "") const;

  /// Follows an event stream until `on_event` returns false (true is
  /// returned) or the stream ends (false). `api_error` with status 0 when the
  /// node cannot be reached.
  using event_listener =
    std::function<bool(const std::string& type, const std::string& data)>;
  bool follow(const std::string& path, const event_listener& on_event) const;

  /// Without credentials.
  const std::string& url() const noexcept {
    return shown_url_;
  }

private:
  std::string request(const std::string& method, const std::string& path,
                      const std::string& body, std::stop_token stop) const;

  std::string url_;
  std::string shown_url_;
  std::string key_;
};

/// Throws `api_error` for what is no JSON.
ordered_json parsed(const std::string& body);

} // namespace reeve
