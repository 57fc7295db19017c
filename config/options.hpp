// config/options.hpp -- every setting of a node, with its default.
#pragma once

#include <caf/actor_system_config.hpp>
#include <caf/timespan.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace reeve {

/// A setting that cannot be used; the text names it and says what is allowed.
class bad_option : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// How one job type is run.
struct type_options {
  /// A run that takes longer is stopped and counts as a failed attempt.
  caf::timespan timeout = std::chrono::minutes{5};
  /// Attempts a job gets when its request names no number.
  uint32_t max_attempts = 3;
};

struct http_options {
  std::string address = "127.0.0.1";
  uint16_t port = 8080;
  std::vector<std::string> allowed_origins;
  std::vector<std::string> allowed_hosts;
  size_t max_connections = 10'000;
  size_t max_header_bytes = 16 * 1024;
  size_t max_body_bytes = 1024 * 1024;
  size_t max_unsent_bytes = 256 * 1024;
  uint32_t max_page_size = 200;
  caf::timespan request_timeout = std::chrono::seconds{30};
  caf::timespan idle_timeout = std::chrono::seconds{60};
  caf::timespan answer_timeout = std::chrono::seconds{10};
  caf::timespan max_wait = std::chrono::seconds{60};
};

struct retry_options {
  caf::timespan backoff = std::chrono::seconds{10};
  double factor = 3.0;
  caf::timespan max_backoff = std::chrono::minutes{10};
  double jitter = 0.25;
  /// Runs that may end without the job's fault, of each kind.
  uint32_t max_unspent = 200;
};

struct analysis_options {
  /// `local` or `analysis-server`.
  std::string provider = "local";
  std::string url = "http://127.0.0.1:8000";
  std::string api_key;
  caf::timespan connect_timeout = std::chrono::seconds{5};
  caf::timespan timeout = std::chrono::minutes{2};
  size_t max_response_bytes = 8 * 1024 * 1024;
};

/// The effective settings: defaults, then the file, then the environment, then
/// the command line.
class options : public caf::actor_system_config {
public:
  options();

  /// Reads all sources. `environment` holds `NAME=value` entries; only those
  /// that start with `REEVE_` matter. Throws `bad_option`.
  void load(const std::vector<std::string>& arguments,
            const std::vector<std::string>& environment);

  /// Every option with its effective value, secrets masked, in the format of
  /// the configuration file.
  std::string print() const;

  /// `NAME` to key, e.g. `REEVE_HTTP_PORT` → `http.port`, for all options.
  std::map<std::string, std::string> environment_names() const;

  /// The help text of each option, by key.
  const std::map<std::string, std::string>& descriptions() const noexcept {
    return descriptions_;
  }

  /// REEVE_ variables that name no option, with the nearest one that does.
  const std::vector<std::string>& warnings() const noexcept {
    return warnings_;
  }

  type_options type(const std::string& name) const;

  uint32_t workers = 3;
  caf::timespan shutdown_grace = std::chrono::seconds{20};
  std::string database_url = "sqlite:./reeve.db";
  std::string node_name;
  caf::timespan lease = std::chrono::seconds{30};
  caf::timespan poll_interval = std::chrono::seconds{5};
  caf::timespan recovery_interval = std::chrono::seconds{10};
  caf::timespan wedged_grace = std::chrono::seconds{5};
  http_options http;
  retry_options retry;
  analysis_options analysis;
  std::string auth_mode = "off";
  std::string log_level = "info";
  std::string log_format = "text";

private:
  /// Registers one option; remembers its help for docs and `--print-config`.
  template <class T>
  void add(T& storage, std::string category, std::string name,
           std::string help);

  void check_arguments(const std::vector<std::string>& arguments);
  std::vector<std::string> file_arguments(const std::string& path) const;
  void check_value(const std::string& key, const std::string& value,
                   const std::string& where) const;
  void check_key(const std::string& key, const std::string& where) const;
  std::string nearest(const std::string& key) const;
  std::vector<std::string> environment_arguments(
    const std::vector<std::string>& environment);

  std::map<std::string, std::string> descriptions_;
  std::map<std::string, std::function<std::string()>> printers_;
  std::vector<std::string> warnings_;
  std::map<std::string, type_options> types_;
};

/// Checks what no parser sees: ranges, and settings that exclude each other.
/// Throws `bad_option`.
void validate(const options& xs);

/// True for addresses that only this machine reaches.
bool is_loopback(std::string_view address);

} // namespace reeve
