// net/client_exchange.hpp -- one request on its way through libcurl.
#pragma once

#include "net/client.hpp"
#include "net/curl_handles.hpp"

#include <exception>

namespace reeve::net {

/// Carries out one request that was checked before. Part of `send`.
class client_exchange {
public:
  /// `request` must outlive this; `endpoint` is its `host:port`, for messages.
  client_exchange(const client_request& request, std::string endpoint);

  /// At most once. Throws what `on_body` threw.
  std::variant<http_response, client_failure> run(std::stop_token stop);

private:
  using clock_type = std::chrono::steady_clock;

  // -- what libcurl calls -----------------------------------------------------

  static client_exchange& self(void* x) {
    return *static_cast<client_exchange*>(x);
  }

  static curl_socket_t open_socket(void* x, curlsocktype purpose,
                                   curl_sockaddr* address);
  static size_t on_body(char* data, size_t, size_t size, void* x);
  static size_t on_header(char* data, size_t, size_t size, void* x);

  bool take_header(std::string_view line);
  bool take_body(std::string_view piece);

  // -- setting it up ----------------------------------------------------------

  template <class T>
  void set(CURLoption option, T value) {
    ok_ = ok_ && curl_easy_setopt(easy_.get(), option, value) == CURLE_OK;
  }

  void set_timeout(CURLoption option, std::chrono::milliseconds value);
  bool add(const std::string& line);
  bool add_headers();
  bool set_up();

  // -- how it ends ------------------------------------------------------------

  long status() const;
  /// What is left of `idle_timeout`; at most `longest`.
  std::chrono::milliseconds idle_time_left(std::chrono::milliseconds longest);
  std::variant<http_response, client_failure> result();
  client_failure say(client_error kind, const std::string& what) const;
  client_failure failure(CURLcode code) const;
  client_failure late() const;

  const client_request& request_;
  std::string endpoint_;
  http_response response_;
  size_t header_bytes_ = 0;
  /// Of the body, also of one that `on_body` hears.
  size_t body_bytes_ = 0;
  bool in_head_ = false;
  bool too_large_ = false;
  bool refused_by_reader_ = false;
  std::exception_ptr thrown_;
  /// Of the addresses libcurl wanted to connect to.
  bool met_forbidden_ = false;
  bool met_allowed_ = false;
  bool ok_ = true;
  /// What moved so far, and when it last did.
  curl_off_t moved_ = 0;
  clock_type::time_point moved_at_;
  list_ptr list_;
  easy_ptr easy_;
  multi_ptr multi_;
};

} // namespace reeve::net
