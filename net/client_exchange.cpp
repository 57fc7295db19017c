// net/client_exchange.cpp -- one request on its way through libcurl.
#include "net/client_exchange.hpp"

#include "net/address.hpp"
#include "net/text.hpp"

#include <sys/socket.h>

#include <algorithm>

namespace reeve::net {

namespace {

using std::chrono::milliseconds;

constexpr size_t max_header_bytes = 64 * 1024;

// How often the stop token is looked at when its wake-up is missed.
constexpr milliseconds poll_slice{100};

// An easy handle that is still part of a multi handle must leave it first.
struct enrolment {
  CURLM* multi;
  CURL* easy;

  ~enrolment() {
    curl_multi_remove_handle(multi, easy);
  }
};

} // namespace

client_exchange::client_exchange(const client_request& request,
                                 std::string endpoint)
  : request_(request),
    endpoint_(std::move(endpoint)),
    easy_(curl_easy_init()),
    multi_(curl_multi_init()) {
  // nop
}

std::variant<http_response, client_failure> client_exchange::run(
  std::stop_token stop) {
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
    if (thrown_)
      std::rethrow_exception(thrown_);
    if (code != CURLM_OK)
      return failure(CURLE_FAILED_INIT);
    if (running == 0)
      return result();
    auto wait = idle_time_left(poll_slice);
    if (wait <= milliseconds{0})
      return say(client_error::timeout,
                 "no byte within "
                   + std::to_string(request_.idle_timeout.count()) + " ms");
    curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(wait.count()),
                    nullptr);
  }
}

// -- what libcurl calls -------------------------------------------------------

curl_socket_t client_exchange::open_socket(void* x, curlsocktype,
                                           curl_sockaddr* address) {
  auto& me = self(x);
  if (me.request_.public_addresses_only) {
    auto ip = address_of(&address->addr, address->addrlen);
    if (!ip || !is_public(*ip)) {
      me.met_forbidden_ = true;
      return CURL_SOCKET_BAD;
    }
  }
  me.met_allowed_ = true;
  // Programs that the node starts must not inherit it.
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC,
                  address->protocol);
}

size_t client_exchange::on_body(char* data, size_t, size_t size, void* x) {
  // Any other number than `size` ends the transfer.
  return self(x).take_body({data, size}) ? size : size + 1;
}

size_t client_exchange::on_header(char* data, size_t, size_t size, void* x) {
  return self(x).take_header({data, size}) ? size : size + 1;
}

bool client_exchange::take_body(std::string_view piece) {
  if (piece.size() > request_.max_response_bytes - body_bytes_)
    return !(too_large_ = true);
  body_bytes_ += piece.size();
  auto is_success = status() / 100 == 2;
  if (!request_.on_body || !is_success) {
    response_.body.append(piece);
    return true;
  }
  // No exception may pass through libcurl.
  try {
    refused_by_reader_ = !request_.on_body(piece);
  } catch (...) {
    thrown_ = std::current_exception();
  }
  return !refused_by_reader_ && !thrown_;
}

// Lines of an interim response (1xx) are replaced by those of the next one;
// trailers come behind the empty line and are dropped.
bool client_exchange::take_header(std::string_view line) {
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
  if (line.substr(0, 5) == "HTTP/" && !in_head_ && body_bytes_ == 0) {
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

// -- setting it up ------------------------------------------------------------

bool client_exchange::add(const std::string& line) {
  auto* longer = curl_slist_append(list_.get(), line.c_str());
  if (longer == nullptr)
    return false;
  list_.release();
  list_.reset(longer);
  return true;
}

bool client_exchange::add_headers() {
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

void client_exchange::set_timeout(CURLoption option, milliseconds value) {
  // Zero would mean no limit.
  set(
    option,
    static_cast<long>(std::clamp<int64_t>(value.count(), 1, 24 * 3600 * 1000)));
}

bool client_exchange::set_up() {
  auto* me = static_cast<void*>(this);
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
  set(CURLOPT_OPENSOCKETFUNCTION, &client_exchange::open_socket);
  set(CURLOPT_OPENSOCKETDATA, me);
  set(CURLOPT_WRITEFUNCTION, &client_exchange::on_body);
  set(CURLOPT_WRITEDATA, me);
  set(CURLOPT_HEADERFUNCTION, &client_exchange::on_header);
  set(CURLOPT_HEADERDATA, me);
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

// -- how it ends --------------------------------------------------------------

long client_exchange::status() const {
  long result = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &result);
  return result;
}

milliseconds client_exchange::idle_time_left(milliseconds longest) {
  curl_off_t connected = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_CONNECT_TIME_T, &connected);
  if (request_.idle_timeout <= milliseconds{0} || connected == 0)
    return longest;
  curl_off_t sent = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_SIZE_UPLOAD_T, &sent);
  auto moved = 1 + sent + static_cast<curl_off_t>(header_bytes_ + body_bytes_);
  auto now = clock_type::now();
  if (moved != moved_) {
    moved_ = moved;
    moved_at_ = now;
  }
  auto left =
    std::chrono::ceil<milliseconds>(moved_at_ + request_.idle_timeout - now);
  return std::min(left, longest);
}

std::variant<http_response, client_failure> client_exchange::result() {
  int left = 0;
  while (auto* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE)
      continue;
    if (message->data.result != CURLE_OK)
      return failure(message->data.result);
    response_.status = static_cast<int>(status());
    // libcurl takes an end inside the head for the end of an empty body.
    if (in_head_)
      return say(client_error::cut_off, "the answer's head is incomplete");
    return std::move(response_);
  }
  return failure(CURLE_FAILED_INIT);
}

client_failure client_exchange::say(client_error kind,
                                    const std::string& what) const {
  return {kind, endpoint_ + ": " + what};
}

// Messages are libcurl's fixed texts: its detailed ones may quote the URL.
client_failure client_exchange::failure(CURLcode code) const {
  if (too_large_ || code == CURLE_FILESIZE_EXCEEDED)
    return say(
      client_error::too_large,
      "the answer is larger than " + std::to_string(request_.max_response_bytes)
        + " bytes, or its header than " + std::to_string(max_header_bytes));
  if (refused_by_reader_)
    return say(client_error::cancelled, "the answer was not read to its end");
  if (met_forbidden_ && !met_allowed_)
    return say(client_error::forbidden_address, "this is not a public address");
  std::string text = curl_easy_strerror(code);
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return late();
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

client_failure client_exchange::late() const {
  curl_off_t connected = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_CONNECT_TIME_T, &connected);
  if (connected == 0)
    return say(
      client_error::unreachable,
      "no connection within "
        + std::to_string(
          std::min(request_.connect_timeout, request_.total_timeout).count())
        + " ms");
  return say(client_error::timeout,
             "no complete answer within "
               + std::to_string(request_.total_timeout.count()) + " ms");
}

} // namespace reeve::net
