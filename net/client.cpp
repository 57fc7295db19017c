// net/client.cpp -- HTTP requests to other services, over libcurl.
#include "net/client.hpp"

#include "net/text.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

namespace reeve::net {

namespace {

using std::chrono::milliseconds;

constexpr size_t max_header_bytes = 64 * 1024;

// How often the stop token is looked at when its wake-up is missed.
constexpr int poll_slice_ms = 100;

constexpr milliseconds max_retry_after = std::chrono::hours{24};

struct free_easy {
  void operator()(CURL* x) const {
    curl_easy_cleanup(x);
  }
};

struct free_multi {
  void operator()(CURLM* x) const {
    curl_multi_cleanup(x);
  }
};

struct free_url {
  void operator()(CURLU* x) const {
    curl_url_cleanup(x);
  }
};

struct free_list {
  void operator()(curl_slist* x) const {
    curl_slist_free_all(x);
  }
};

using easy_ptr = std::unique_ptr<CURL, free_easy>;
using multi_ptr = std::unique_ptr<CURLM, free_multi>;
using url_ptr = std::unique_ptr<CURLU, free_url>;
using list_ptr = std::unique_ptr<curl_slist, free_list>;

// An easy handle that is still part of a multi handle must leave it first.
struct enrolment {
  CURLM* multi;
  CURL* easy;

  ~enrolment() {
    curl_multi_remove_handle(multi, easy);
  }
};

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

class exchange {
public:
  exchange(const client_request& request, std::string endpoint)
    : request_(request),
      endpoint_(std::move(endpoint)),
      easy_(curl_easy_init()),
      multi_(curl_multi_init()) {
    // nop
  }

  std::variant<http_response, client_failure> run(std::stop_token stop) {
    if (easy_ == nullptr || multi_ == nullptr || !add_headers() || !set_up())
      return client_failure{client_error::unreachable,
                            "libcurl could not be set up"};
    // Wakes the poll below; gone before the handles are.
    std::stop_callback wake{stop, [this] { curl_multi_wakeup(multi_.get()); }};
    curl_multi_add_handle(multi_.get(), easy_.get());
    enrolment member{multi_.get(), easy_.get()};
    for (;;) {
      if (stop.stop_requested())
        return client_failure{client_error::cancelled,
                              "the request to " + endpoint_ + " was cancelled"};
      int running = 0;
      auto code = curl_multi_perform(multi_.get(), &running);
      if (code != CURLM_OK)
        return failure(CURLE_FAILED_INIT);
      if (running == 0)
        return result();
      curl_multi_poll(multi_.get(), nullptr, 0, poll_slice_ms, nullptr);
    }
  }

private:
  static exchange& self(void* x) {
    return *static_cast<exchange*>(x);
  }

  static size_t on_body(char* data, size_t, size_t size, void* x) {
    auto& body = self(x).response_.body;
    auto limit = self(x).request_.max_response_bytes;
    if (size > limit - body.size()) {
      self(x).too_large_ = true;
      return size + 1; // any other number than `size` ends the transfer
    }
    body.append(data, size);
    return size;
  }

  static size_t on_header(char* data, size_t, size_t size, void* x) {
    return self(x).take_header({data, size}) ? size : size + 1;
  }

  // Lines of an interim response (1xx) are replaced by those of the next one;
  // trailers come behind the empty line and are dropped.
  bool take_header(std::string_view line) {
    header_bytes_ += line.size();
    if (header_bytes_ > max_header_bytes)
      return !(too_large_ = true);
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r'))
      line.remove_suffix(1);
    auto& headers = response_.headers;
    if (line.empty()) {
      in_head_ = false;
      return true;
    }
    if (line.substr(0, 5) == "HTTP/" && !in_head_ && response_.body.empty()) {
      in_head_ = true;
      headers.clear();
      return true;
    }
    auto colon = line.find(':');
    if (!in_head_ || colon == std::string_view::npos)
      return true;
    headers.emplace_back(trim(line.substr(0, colon)),
                         trim(line.substr(colon + 1)));
    return true;
  }

  bool add(const std::string& line) {
    auto* longer = curl_slist_append(list_.get(), line.c_str());
    if (longer == nullptr)
      return false;
    list_.release();
    list_.reset(longer);
    return true;
  }

  bool add_headers() {
    auto has_type = false;
    for (const auto& [name, value] : request_.headers) {
      has_type = has_type || iequals(name, "content-type");
      // libcurl's spelling of an empty value is `name;`.
      auto line = trim(value).empty() ? name + ';' : name + ": " + value;
      if (!add(line))
        return false;
    }
    // Without these libcurl waits a second for `100 Continue`, and calls any
    // body a form.
    return add("Expect:") && (has_type || add("Content-Type:"));
  }

  template <class T>
  void set(CURLoption option, T value) {
    ok_ = ok_ && curl_easy_setopt(easy_.get(), option, value) == CURLE_OK;
  }

  void set_timeout(CURLoption option, milliseconds value) {
    // Zero would mean no limit.
    set(option,
        static_cast<long>(
          std::clamp<int64_t>(value.count(), 1, 24 * 3600 * 1000)));
  }

  bool set_up() {
    set(CURLOPT_URL, request_.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_PROXY, "");
    set(CURLOPT_NOPROXY, "*");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_QUICK_EXIT, 1L); // do not wait for a name look-up when stopped
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set_timeout(CURLOPT_CONNECTTIMEOUT_MS, request_.connect_timeout);
    set_timeout(CURLOPT_TIMEOUT_MS, request_.total_timeout);
    set(CURLOPT_WRITEFUNCTION, &exchange::on_body);
    set(CURLOPT_WRITEDATA, static_cast<void*>(this));
    set(CURLOPT_HEADERFUNCTION, &exchange::on_header);
    set(CURLOPT_HEADERDATA, static_cast<void*>(this));
    set(CURLOPT_HTTPHEADER, list_.get());
    auto& method = request_.method;
    if (!request_.body.empty() || method == "POST" || method == "PUT"
        || method == "PATCH") {
      set(CURLOPT_POSTFIELDSIZE_LARGE,
          static_cast<curl_off_t>(request_.body.size()));
      set(CURLOPT_POSTFIELDS, request_.body.data());
    }
    if (method == "HEAD")
      set(CURLOPT_NOBODY, 1L);
    set(CURLOPT_CUSTOMREQUEST, method.c_str());
    return ok_;
  }

  std::variant<http_response, client_failure> result() {
    int left = 0;
    while (auto* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE)
        continue;
      if (message->data.result != CURLE_OK)
        return failure(message->data.result);
      long status = 0;
      curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
      response_.status = static_cast<int>(status);
      // libcurl takes an end inside the head for the end of an empty body.
      if (in_head_)
        return client_failure{client_error::cut_off,
                              endpoint_ + ": the answer's head is incomplete"};
      return std::move(response_);
    }
    return failure(CURLE_FAILED_INIT);
  }

  // Messages are libcurl's fixed texts: its detailed ones may quote the URL.
  client_failure failure(CURLcode code) const {
    auto say = [&](client_error kind, const std::string& what) {
      return client_failure{kind, endpoint_ + ": " + what};
    };
    if (too_large_ || code == CURLE_FILESIZE_EXCEEDED)
      return say(client_error::too_large,
                 "the answer is larger than "
                   + std::to_string(request_.max_response_bytes)
                   + " bytes, or its header than "
                   + std::to_string(max_header_bytes));
    std::string text = curl_easy_strerror(code);
    switch (code) {
      case CURLE_OPERATION_TIMEDOUT:
        return say(client_error::timeout, timeout_text());
      case CURLE_COULDNT_RESOLVE_HOST:
      case CURLE_COULDNT_CONNECT:
      case CURLE_INTERFACE_FAILED:
      case CURLE_SSL_CONNECT_ERROR:
      case CURLE_SSL_CERTPROBLEM:
      case CURLE_SSL_CIPHER:
      case CURLE_SSL_CACERT_BADFILE:
      case CURLE_SSL_ISSUER_ERROR:
      case CURLE_SSL_INVALIDCERTSTATUS:
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_FAILED_INIT:
      case CURLE_OUT_OF_MEMORY:
        return say(client_error::unreachable, text);
      case CURLE_UNSUPPORTED_PROTOCOL: // the scheme was checked
        return say(client_error::cut_off, "the answer is not HTTP/1.1");
      case CURLE_URL_MALFORMAT:
        return say(client_error::bad_request, text);
      default:
        // From here on a connection was there, and the answer is incomplete
        // or no HTTP.
        return say(client_error::cut_off, text);
    }
  }

  std::string timeout_text() const {
    curl_off_t connected = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_CONNECT_TIME_T, &connected);
    if (connected == 0)
      return "no connection within "
        + std::to_string(
               std::min(request_.connect_timeout, request_.total_timeout)
                 .count())
        + " ms";
    return "no complete answer within "
      + std::to_string(request_.total_timeout.count()) + " ms";
  }

  const client_request& request_;
  std::string endpoint_;
  http_response response_;
  size_t header_bytes_ = 0;
  bool in_head_ = false;
  bool too_large_ = false;
  bool ok_ = true;
  list_ptr list_;
  easy_ptr easy_;
  multi_ptr multi_;
};

} // namespace

std::variant<http_response, client_failure> send(const client_request& request,
                                                 std::stop_token stop) {
  init_once();
  auto endpoint = endpoint_of(request.url);
  if (auto err = check(request, endpoint))
    return *err;
  return exchange{request, std::move(endpoint)}.run(stop);
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
