// net/client.cpp -- HTTP requests to other services, over libcurl.
#include "net/client.hpp"

#include "net/client_exchange.hpp"
#include "net/curl_handles.hpp"
#include "net/text.hpp"

#include <algorithm>

namespace reeve::net {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds max_retry_after = std::chrono::hours{24};

void init_once() {
  static const auto code = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)code;
}

client_failure bad_request(std::string message) {
  return {client_error::bad_request, std::move(message)};
}

// `host:port` of a URL; empty when it is not one we would request.
std::string endpoint_of(const std::string& url) {
  url_ptr parts{curl_url()};
  if (parts == nullptr || !is_field_value(url)
      || curl_url_set(parts.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK)
    return {};
  auto part = [&parts](CURLUPart which) {
    char* text = nullptr;
    std::string result;
    if (curl_url_get(parts.get(), which, &text, CURLU_DEFAULT_PORT)
        == CURLUE_OK)
      result = text;
    curl_free(text);
    return result;
  };
  auto scheme = to_lower(part(CURLUPART_SCHEME));
  if ((scheme != "http" && scheme != "https")
      || url.find("://") != scheme.size())
    return {};
  return part(CURLUPART_HOST) + ':' + part(CURLUPART_PORT);
}

// The caller's part of the checks; `endpoint` is what `endpoint_of` gave.
std::optional<client_failure> check(const client_request& request,
                                    const std::string& endpoint) {
  if (endpoint.empty())
    return bad_request("the URL must be http:// or https:// with a host");
  if (!is_token(request.method))
    return bad_request("the method must be a token");
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name) || !is_field_value(value))
      return bad_request("a header must be a token and a value without control "
                         "characters");
    if (iequals(name, "content-length") || iequals(name, "transfer-encoding"))
      return bad_request("the header " + name + " is computed, not given");
  }
  return std::nullopt;
}

} // namespace

std::variant<http_response, client_failure> send(const client_request& request,
                                                 std::stop_token stop) {
  init_once();
  auto endpoint = endpoint_of(request.url);
  if (auto err = check(request, endpoint))
    return *err;
  return client_exchange{request, std::move(endpoint)}.run(stop);
}

std::optional<milliseconds> retry_after(
  const http_response& response, std::chrono::system_clock::time_point now) {
  using std::chrono::system_clock;
  auto i =
    std::find_if(response.headers.begin(), response.headers.end(),
                 [](const auto& x) { return iequals(x.first, "retry-after"); });
  if (i == response.headers.end())
    return std::nullopt;
  std::string text{trim(i->second)};
  auto clamped = [](milliseconds x) {
    return std::clamp(x, milliseconds{0}, max_retry_after);
  };
  if (is_digits(text)) {
    if (text.size() > 9)
      return max_retry_after;
    return clamped(std::chrono::seconds{std::stol(text)});
  }
  // A date starts with the day's name; libcurl would also take less.
  auto letter = !text.empty() && is_token(text.substr(0, 1))
    && !is_digits(text.substr(0, 1));
  auto date = letter ? curl_getdate(text.c_str(), nullptr) : -1;
  if (date == -1)
    return std::nullopt;
  return clamped(std::chrono::duration_cast<milliseconds>(
    system_clock::from_time_t(date) - now));
}

} // namespace reeve::net
