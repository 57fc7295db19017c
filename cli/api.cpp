// cli/api.cpp -- a node's HTTP API, as the client commands use it.
#include "cli/api.hpp"

#include "net/client.hpp"
#include "net/event_stream.hpp"
#include "net/text.hpp"

#include <limits>

namespace reeve {

namespace {

using namespace std::chrono_literals;

constexpr auto connect_timeout = 5s;

/// A bulk retry goes through its pages before it answers.
constexpr auto total_timeout = 10min;
constexpr auto longest_stream = 24h;

/// The node sends a comment every 15 s.
constexpr auto stream_silence = 45s;

constexpr size_t longest_answer = size_t{256} << 20;
constexpr size_t longest_event = size_t{64} << 20;

exit_code code_of(int status) {
  switch (status) {
    case 400:
    case 413:
    case 414:
    case 415:
    case 422:
    case 431:
      return exit_bad_usage;
    case 401:
    case 403:
      return exit_not_allowed;
    case 404:
      return exit_not_found;
    default:
      return exit_failed;
  }
}

api_error refused(const net::http_response& answer) {
  auto problem = ordered_json::parse(answer.body, nullptr, false);
  auto detail = problem.is_object() ? text_of(problem, "detail") : "";
  // Somebody else listens there.
  if (detail.empty())
    return {answer.status, exit_failed,
            "the answer is not a Reeve node's (status "
              + std::to_string(answer.status) + "); does REEVE_URL or --url "
              + "name a node?"};
  if (answer.status == 401)
    detail += " (REEVE_API_KEY holds the key; `reeve keys create` makes one)";
  return {answer.status, code_of(answer.status), detail};
}

api_error failed(const net::client_failure& failure) {
  using net::client_error;
  switch (failure.code) {
    case client_error::unreachable:
      return {0, exit_unreachable,
              "cannot reach the node: " + failure.message
                + " (REEVE_URL or --url says where it is)"};
    case client_error::timeout:
    case client_error::cut_off:
      return {0, exit_unreachable,
              "the node was reached but did not answer: " + failure.message};
    case client_error::bad_request:
      return {0, exit_bad_usage,
              "REEVE_URL, --url or REEVE_API_KEY: " + failure.message};
    case client_error::too_large:
    case client_error::cancelled:
    case client_error::forbidden_address:
      break;
  }
  return {0, exit_failed, failure.message};
}

std::string encoded(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string result;
  for (unsigned char c : text) {
    if (std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '~') {
      result += static_cast<char>(c);
    } else {
      result += '%';
      result += digits[c >> 4];
      result += digits[c & 15];
    }
  }
  return result;
}

// The user part of a URL may hold a password.
std::string without_user(std::string url) {
  auto start = url.find("://");
  start = start == std::string::npos ? 0 : start + 3;
  auto end = std::min(url.find('/', start), url.size());
  auto at = url.substr(0, end).rfind('@');
  if (at != std::string::npos && at >= start)
    url.erase(start, at + 1 - start);
  return url;
}

} // namespace

std::string query_string(const query_fields& fields) {
  std::string result;
  for (const auto& [name, value] : fields)
    if (!value.empty())
      result += (result.empty() ? '?' : '&') + name + '=' + encoded(value);
  return result;
}

std::string path_segment(std::string_view text) {
  return encoded(text);
}

std::string text_of(const ordered_json& x, const std::string& member) {
  if (!x.is_object())
    return {};
  auto i = x.find(member);
  if (i == x.end() || i->is_null())
    return {};
  if (i->is_string())
    return i->get<std::string>();
  return i->dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

double number_of(const ordered_json& x, const std::string& member) {
  if (!x.is_object())
    return 0;
  auto i = x.find(member);
  return i != x.end() && i->is_number() ? i->get<double>() : 0;
}

const ordered_json& list_of(const ordered_json& x, const std::string& member) {
  static const auto nothing = ordered_json::array();
  if (!x.is_object())
    return nothing;
  auto i = x.find(member);
  return i != x.end() && i->is_array() ? *i : nothing;
}

ordered_json parsed(const std::string& body) {
  auto result = ordered_json::parse(body, nullptr, false);
  if (result.is_discarded())
    throw api_error(200, exit_failed,
                    "the answer is not a Reeve node's: it is no JSON");
  return result;
}

api_client::api_client(std::string url, std::string key)
  : url_(std::move(url)), key_(std::move(key)) {
  while (url_.ends_with('/'))
    url_.pop_back();
  shown_url_ = without_user(url_);
}

std::string api_client::get(const std::string& path,
                            std::stop_token stop) const {
  return request("GET", path, "", stop);
}

std::string api_client::post(const std::string& path,
                             const std::string& body) const {
  return request("POST", path, body, {});
}

std::string api_client::request(const std::string& method,
                                const std::string& path,
                                const std::string& body,
                                std::stop_token stop) const {
  net::client_request what;
  what.method = method;
  what.url = url_ + path;
  what.headers.emplace_back("Accept", "application/json");
  if (!key_.empty())
    what.headers.emplace_back("Authorization", "Bearer " + key_);
  if (!body.empty())
    what.headers.emplace_back("Content-Type", "application/json");
  what.body = body;
  what.connect_timeout = connect_timeout;
  what.total_timeout = total_timeout;
  what.max_response_bytes = longest_answer;
  auto answer = net::send(what, stop);
  if (const auto* failure = std::get_if<net::client_failure>(&answer))
    throw failed(*failure);
  auto& response = std::get<net::http_response>(answer);
  if (response.status / 100 != 2)
    throw refused(response);
  return std::move(response.body);
}

bool api_client::follow(const std::string& path,
                        const event_listener& on_event) const {
  net::event_stream_parser parser{longest_event};
  net::client_request what;
  what.method = "GET";
  what.url = url_ + path;
  what.headers.emplace_back("Accept", "text/event-stream");
  if (!key_.empty())
    what.headers.emplace_back("Authorization", "Bearer " + key_);
  what.connect_timeout = connect_timeout;
  what.total_timeout = longest_stream;
  what.idle_timeout = stream_silence;
  what.max_response_bytes = std::numeric_limits<size_t>::max();
  auto ended = false;
  what.on_body = [&](std::string_view piece) {
    return parser.feed(piece, [&](const net::stream_event& event) {
      ended = !on_event(event.type, event.data);
      return !ended;
    });
  };
  auto answer = net::send(what, {});
  if (ended)
    return true;
  if (parser.too_large())
    throw api_error(0, exit_failed, "an event is too large to be read");
  if (const auto* failure = std::get_if<net::client_failure>(&answer)) {
    // What was cut is taken up again by the caller.
    if (failure->code == net::client_error::cut_off
        || failure->code == net::client_error::timeout)
      return false;
    throw failed(*failure);
  }
  const auto& response = std::get<net::http_response>(answer);
  if (response.status / 100 != 2)
    throw refused(response);
  return false;
}

} // namespace reeve
