// processors/webhook_redirect.cpp -- where a webhook may be sent on to.
#include "processors/webhook_redirect.hpp"

#include "net/text.hpp"

#include <curl/curl.h>

#include <memory>

namespace reeve {

namespace {

struct free_url {
  void operator()(CURLU* x) const {
    curl_url_cleanup(x);
  }
};

using url_ptr = std::unique_ptr<CURLU, free_url>;

url_ptr parsed(const std::string& url) {
  url_ptr result{curl_url()};
  if (result != nullptr
      && (!net::is_field_value(url)
          || curl_url_set(result.get(), CURLUPART_URL, url.c_str(), 0)
            != CURLUE_OK))
    result.reset();
  return result;
}

std::string part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  std::string result;
  if (curl_url_get(url, which, &text, flags) == CURLUE_OK)
    result = text;
  curl_free(text);
  return result;
}

// Scheme, host and port, in one spelling.
std::string origin(CURLU* url) {
  return net::to_lower(part(url, CURLUPART_SCHEME)) + "://"
    + net::to_lower(part(url, CURLUPART_HOST)) + ':'
    + part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
}

} // namespace

bool is_http_url(const std::string& url) {
  auto x = parsed(url);
  if (x == nullptr || part(x.get(), CURLUPART_HOST).empty())
    return false;
  auto scheme = net::to_lower(part(x.get(), CURLUPART_SCHEME));
  // libcurl guesses the scheme of `host/path`.
  return (scheme == "http" || scheme == "https")
    && url.find("://") == scheme.size();
}

std::optional<std::string> same_origin_target(const std::string& base,
                                              const std::string& location) {
  auto x = parsed(base);
  if (x == nullptr || location.empty() || !net::is_field_value(location))
    return std::nullopt;
  auto expected = origin(x.get());
  // Setting a relative URL resolves it (RFC 3986, section 5.2).
  if (curl_url_set(x.get(), CURLUPART_URL, location.c_str(), 0) != CURLUE_OK
      || origin(x.get()) != expected)
    return std::nullopt;
  auto result = part(x.get(), CURLUPART_URL);
  if (!is_http_url(result))
    return std::nullopt;
  return result;
}

} // namespace reeve
