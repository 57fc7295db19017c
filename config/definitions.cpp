// config/definitions.cpp -- what the settings are called, and what they mean.
#include "config/duration.hpp"
#include "config/options.hpp"

#include <caf/config_option_adder.hpp>
#include <caf/deep_to_string.hpp>
#include <caf/io/middleman.hpp>

#include <unistd.h>

#include <utility>

namespace reeve {

namespace {

using namespace std::chrono_literals;

std::string host_name() {
  char buf[256] = {};
  if (gethostname(buf, sizeof(buf) - 1) != 0 || buf[0] == '\0')
    return "reeve";
  return buf;
}

template <class T>
std::string shown(const T& x) {
  if constexpr (std::is_same_v<T, caf::timespan>)
    return rendered(x);
  else
    return caf::deep_to_string(x);
}

} // namespace

template <class T>
void options::add(T& storage, std::string category, std::string name,
                  std::string help) {
  auto key = category == "global" ? name : category + '.' + name;
  opt_group{custom_options_, category}.add(storage, name, help);
  if constexpr (std::is_same_v<T, std::string>)
    texts_.push_back(&storage);
  printers_.emplace(key, [&storage] { return shown(storage); });
  descriptions_.emplace(std::move(key), std::move(help));
}

options::options() : node_name(host_name()) {
  config_file_path.clear();
  actor_system_config::load<caf::io::middleman>();
  // The default policy polls for work; an idle node should sleep.
  set("caf.scheduler.policy", "sharing");
  set("caf.scheduler.max-threads", size_t{2});
  set("caf.middleman.workers", size_t{0});
  add(workers, "global", "workers", "jobs that run at once, 1 to 64");
  add(shutdown_grace, "global", "shutdown-grace",
      "how long running jobs get to finish after SIGTERM");
  add(database_url, "database", "url",
      "sqlite:PATH, or postgresql://user:password@host:port/database");
  add(node_name, "node", "name",
      "unique per database; the host's name by default");
  add(lease, "node", "lease",
      "a node that is silent for so long loses its jobs to others");
  add(poll_interval, "queue", "poll-interval",
      "how often to look for work that nothing announced");
  add(recovery_interval, "queue", "recovery-interval",
      "how often to look for jobs whose node died");
  add(wedged_grace, "queue", "wedged-grace",
      "a processor that ignores its timeout for so long is abandoned");
  add(retention, "queue", "retention",
      "how long jobs of this node's types are kept after their end, e.g. 720h; "
      "0s: for ever");
  add(http.address, "http", "address", "the address to listen on");
  add(http.port, "http", "port", "the port to listen on; 0 takes a free one");
  add(http.allowed_origins, "http", "allowed-origins",
      "web origins that may call the API (CORS), e.g. https://app.example");
  add(http.allowed_hosts, "http", "allowed-hosts",
      "Host names accepted beside the address itself and localhost");
  add(http.max_connections, "http", "max-connections",
      "clients connected at once; more get 503");
  add(http.max_header_bytes, "http", "max-header-bytes",
      "request line and header fields together; more get 431");
  add(http.max_body_bytes, "http", "max-body-bytes",
      "request body; more gets 413");
  add(http.max_unsent_bytes, "http", "max-unsent-bytes",
      "an event stream whose reader lags by more is cut off");
  add(http.max_page_size, "http", "max-page-size",
      "the largest `limit` of a listing");
  add(http.request_timeout, "http", "request-timeout",
      "from a request's first byte to its last; longer gets 408");
  add(http.idle_timeout, "http", "idle-timeout",
      "how long a connection may rest between requests");
  add(http.answer_timeout, "http", "answer-timeout",
      "how long a request may wait for the store; longer gets 503");
  add(http.max_wait, "http", "max-wait", "the longest `wait` of a long poll");
  add(retry.backoff, "retry", "backoff", "delay after the first failure");
  add(retry.factor, "retry", "factor",
      "what the delay is multiplied by after each further failure, 1 to 10");
  add(retry.max_backoff, "retry", "max-backoff", "the longest such delay");
  add(retry.jitter, "retry", "jitter",
      "a delay varies by this fraction up or down, 0 to 0.5");
  add(retry.max_unspent, "retry", "max-unspent",
      "runs of each kind that may end without the job's fault (throttled, "
      "provider down, interrupted) before the job fails");
  add(analysis.provider, "analysis", "provider",
      "who analyses scraps: local (offline, no model) or analysis-server");
  add(analysis.url, "analysis", "url",
      "base URL of the analysis server, http or https");
  add(analysis.api_key, "analysis", "api-key",
      "bearer token for the analysis server; better in the environment");
  add(analysis.connect_timeout, "analysis", "connect-timeout",
      "how long to wait for a connection");
  add(analysis.timeout, "analysis", "timeout",
      "how long one analysis may take in all");
  add(analysis.max_response_bytes, "analysis", "max-response-bytes",
      "a longer answer is refused");
  add(analysis.concurrency, "analysis", "concurrency",
      "calls that may be under way at once");
  add(text.provider, "text", "provider",
      "who writes texts: local (offline, no model), anthropic or "
      "openai-compatible");
  add(text.url, "text", "url",
      "base URL of the provider; empty: its public address, or the usual one "
      "of a local server");
  add(text.api_key, "text", "api-key",
      "key of the text provider; better in the environment");
  add(text.model, "text", "model",
      "the model's name; empty: a usual one of anthropic");
  add(text.max_tokens, "text", "max-tokens", "longest text, in tokens");
  add(text.concurrency, "text", "concurrency",
      "calls that may be under way at once");
  add(text.connect_timeout, "text", "connect-timeout",
      "how long to wait for a connection");
  add(text.idle_timeout, "text", "idle-timeout",
      "how long a text that is being written may pause");
  add(text.timeout, "text", "timeout", "how long one text may take in all");
  add(image.provider, "image", "provider",
      "who draws pictures: local (offline, no model) or gemini");
  add(image.url, "image", "url",
      "base URL of the provider; empty: its public address");
  add(image.api_key, "image", "api-key",
      "key of the image provider; better in the environment");
  add(image.model, "image", "model",
      "the model's name; empty: a usual one of gemini");
  add(image.concurrency, "image", "concurrency",
      "calls that may be under way at once");
  add(image.connect_timeout, "image", "connect-timeout",
      "how long to wait for a connection");
  add(image.timeout, "image", "timeout",
      "how long one picture may take in all");
  add(image.max_response_bytes, "image", "max-response-bytes",
      "a longer answer is refused");
  add(gate.breaker_failures, "gate", "breaker-failures",
      "outages of a provider in a row after which nobody calls it");
  add(gate.breaker_delay, "gate", "breaker-delay",
      "how long until one call probes; doubles after each that fails");
  add(gate.breaker_max_delay, "gate", "breaker-max-delay",
      "the longest such delay");
  add(gate.throttle_delay, "gate", "throttle-delay",
      "how long nobody calls after a 429 that names no time");
  add(gate.longest_wait, "gate", "longest-wait",
      "a job that would wait longer for its turn to call gives its slot back");
  add(prices.book, "prices", "book", "tokens a picture book costs");
  add(prices.page, "prices", "page", "tokens each of its pages costs more");
  add(prices.redraw, "prices", "redraw", "tokens a page drawn anew costs");
  add(time_zone, "san", "time-zone",
      "where a day begins when a request names no zone, e.g. Asia/Seoul");
  add(auth_mode, "auth", "mode",
      "off (loopback addresses only) or api-key (see `reeve keys`)");
  add(log_level, "log", "level", "debug, info, warn or error");
  add(log_format, "log", "format", "text or json");
  add_built_in("CARD_ANALYSIS", 5min);
  // Longer than a provider may take, which ends with its own error.
  add_built_in("TIL_GENERATION", 15min);
  add_built_in("RECALL_GENERATION", 15min);
  add_built_in("BOOK_GENERATION", 1h);
  add_built_in("IMAGE_REGEN", 30min);
}

void options::add_built_in(const std::string& name, caf::timespan timeout) {
  auto& type = types_[name];
  type.timeout = timeout;
  add_common(type, name);
}

void options::add_common(type_options& type, const std::string& name) {
  auto category = "types." + name;
  add(type.timeout, category, "timeout", "how long one run may take");
  add(type.max_attempts, category, "max-attempts",
      "attempts of a job whose request names no number, 1 to 100");
  add(type.backoff, category, "backoff",
      "delay after the first failure; 0s: that of retry.backoff");
  add(type.concurrency, category, "concurrency",
      "jobs of it that run at once on all nodes; 0: as many as there are "
      "workers");
  add(type.retention, category, "retention",
      "how long its jobs are kept after their end; 0s: that of "
      "queue.retention");
}

void options::add_type(const std::string& name) {
  auto& type = types_[name];
  auto category = "types." + name;
  add_common(type, name);
  add(type.processor, category, "processor", "webhook or command");
  add(type.url, category, "url", "webhook: where jobs are posted to");
  add(type.secret, category, "secret",
      "webhook: signs the requests (whsec_BASE64 or any text); better in the "
      "environment");
  add(type.addresses, category, "addresses",
      "webhook: what it may call: public, or any (loopback and private too)");
  add(
    type.command, category, "command",
    "command: the program and its arguments, e.g. [\"/usr/bin/tool\", \"-v\"]");
  add(type.max_output_bytes, category, "max-output-bytes",
      "a longer answer or output fails the job");
}

} // namespace reeve
