// bench/client/connection.hpp -- one HTTP/1.1 connection to the node.
#pragma once

#include "bench/client/loop.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace reeve::bench {

/// A keep-alive connection to 127.0.0.1 with one request in flight. Responses
/// must have a Content-Length, as the node's have. Throws `std::runtime_error`
/// from `loop::run` when the node closes it.
class connection : public readable {
public:
  connection(loop& in, uint16_t port);
  ~connection() override;
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// `handler` gets status and body; it may send the next request.
  void send(std::string_view request,
            std::function<void(int, std::string_view)> handler);

  /// All bytes that come after this request go to `handler`, head and all; the
  /// node may close it.
  void stream(std::string_view request,
              std::function<void(std::string_view)> handler);

  void on_ready(uint32_t events) override;

private:
  void flush();
  void read_all();
  bool take_response();

  int fd_;
  std::string out_;
  std::string in_;
  std::function<void(int, std::string_view)> on_response_;
  std::function<void(std::string_view)> on_bytes_;
};

/// Bytes of a request with a JSON body (none when it is empty).
std::string render(std::string_view method, std::string_view path,
                   uint16_t port, std::string_view body = {});

} // namespace reeve::bench
