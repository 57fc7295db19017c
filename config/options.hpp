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
  /// What does it: `webhook` or `command`; empty for the types built in.
  std::string processor;
  /// A run that takes longer is stopped and counts as a failed attempt.
  caf::timespan timeout = std::chrono::minutes{5};
  /// Attempts a job gets when its request names no number.
  uint32_t max_attempts = 3;
  /// Delay after the first failure; 0: that of `retry.backoff`.
  caf::timespan backoff{0};
  /// Jobs of it that run at once on all nodes; 0: as many as there are workers.
  uint32_t concurrency = 0;
  /// How long its jobs are kept after their end; 0: as `queue.retention` says.
  caf::timespan retention{0};

  // -- webhook ----------------------------------------------------------------

  std::string url;
  /// Signs the requests; empty: they are not signed.
  std::string secret;
  /// `public`, or `any`: also loopback and private networks.
  std::string addresses = "public";

  // -- command ----------------------------------------------------------------

  /// The program and its arguments; no shell.
  std::vector<std::string> command;

  // -- both -------------------------------------------------------------------

  /// A longer answer or output fails the job.
  size_t max_output_bytes = 1024 * 1024;
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
  /// Calls that may be under way at once.
  uint32_t concurrency = 3;
};

/// Who writes texts (TIL, recalls, books).
struct text_options {
  /// `local`, `anthropic` or `openai-compatible`.
  std::string provider = "local";
  /// Empty: the provider's public address.
  std::string url;
  std::string api_key;
  std::string model;
  uint32_t max_tokens = 32'768;
  /// Calls that may be under way at once.
  uint32_t concurrency = 3;
  caf::timespan connect_timeout = std::chrono::seconds{10};
  /// Longest silence of a stream.
  caf::timespan idle_timeout = std::chrono::minutes{1};
  caf::timespan timeout = std::chrono::minutes{10};
};

/// Who draws pictures.
struct image_options {
  /// `local` or `gemini`.
  std::string provider = "local";
  std::string url;
  std::string api_key;
  std::string model;
  /// One after another: parallel calls draw 429s.
  uint32_t concurrency = 1;
  caf::timespan connect_timeout = std::chrono::seconds{10};
  caf::timespan timeout = std::chrono::minutes{3};
  size_t max_response_bytes = 32 * 1024 * 1024;
};

/// When a lane to a provider closes and opens again.
struct gate_options {
  /// Outages in a row that open the breaker.
  uint32_t breaker_failures = 3;
  /// Until the first probe; doubles after each that fails.
  caf::timespan breaker_delay = std::chrono::seconds{5};
  caf::timespan breaker_max_delay = std::chrono::minutes{1};
  /// After a 429 without Retry-After.
  caf::timespan throttle_delay = std::chrono::seconds{10};
  /// A call that would wait longer for its turn gives its slot back.
  caf::timespan longest_wait = std::chrono::seconds{15};
};

/// What books cost, in tokens of an account.
struct price_options {
  uint32_t book = 10;
  uint32_t page = 5;
  uint32_t redraw = 5;
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

  /// The built-in types and those that the settings add, by name.
  const std::map<std::string, type_options>& types() const noexcept {
    return types_;
  }

  uint32_t workers = 3;
  caf::timespan shutdown_grace = std::chrono::seconds{20};
  std::string database_url = "sqlite:./reeve.db";
  std::string node_name;
  caf::timespan lease = std::chrono::seconds{30};
  caf::timespan poll_interval = std::chrono::seconds{5};
  caf::timespan recovery_interval = std::chrono::seconds{10};
  caf::timespan wedged_grace = std::chrono::seconds{5};
  /// How long jobs are kept after their end; 0: for ever.
  caf::timespan retention{0};
  http_options http;
  retry_options retry;
  analysis_options analysis;
  text_options text;
  image_options image;
  gate_options gate;
  price_options prices;
  /// The zone of a day when a request names none; an IANA name.
  std::string time_zone = "UTC";
  std::string auth_mode = "off";
  std::string log_level = "info";
  std::string log_format = "text";

private:
  /// Registers one option; remembers its help for docs and `--print-config`.
  template <class T>
  void add(T& storage, std::string category, std::string name,
           std::string help);

  void add_built_in(const std::string& name, caf::timespan timeout);
  void add_common(type_options& type, const std::string& name);
  void add_type(const std::string& name);
  /// Types that only the settings name, so that their options are known before
  /// they are read.
  void add_types_of(const std::vector<std::string>& keys);
  void check_arguments(const std::vector<std::string>& arguments);
  std::vector<std::string> file_arguments(const std::string& path);
  void check_value(const std::string& key, const std::string& value,
                   const std::string& where) const;
  void check_key(const std::string& key, const std::string& where) const;
  std::string nearest(const std::string& key) const;
  std::vector<std::string> environment_arguments(
    const std::vector<std::string>& environment);

  std::map<std::string, std::string> descriptions_;
  std::map<std::string, std::function<std::string()>> printers_;
  std::vector<std::string> warnings_;
  /// Where texts are kept.
  std::vector<std::string*> texts_;
  std::map<std::string, type_options> types_;
};

/// Checks what no parser sees: ranges, and settings that exclude each other.
/// Throws `bad_option`.
void validate(const options& xs);

/// True for addresses that only this machine reaches.
bool is_loopback(std::string_view address);

} // namespace reeve
