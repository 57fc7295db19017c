// bench/client/connection.cpp -- one HTTP/1.1 connection to the node.
#include "bench/client/connection.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <system_error>

namespace reeve::bench {

namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

} // namespace

connection::connection(loop& in, uint16_t port)
  : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (fd_ < 0)
    fail("socket");
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0)
    fail("connect");
  int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
  in.watch(fd_, *this);
}

connection::~connection() {
  close(fd_);
}

void connection::send(std::string_view request,
                      std::function<void(int, std::string_view)> handler) {
  if (on_response_)
    throw std::logic_error("a request is under way");
  on_response_ = std::move(handler);
  out_ += request;
  flush();
}

void connection::stream(std::string_view request,
                        std::function<void(std::string_view)> handler) {
  on_bytes_ = std::move(handler);
  out_ += request;
  flush();
}

void connection::on_ready(uint32_t events) {
  if ((events & EPOLLOUT) != 0)
    flush();
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP)) != 0)
    read_all();
}

void connection::flush() {
  while (!out_.empty()) {
    auto count = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EAGAIN)
      return;
    if (count < 0)
      fail("send");
    out_.erase(0, static_cast<size_t>(count));
  }
}

void connection::read_all() {
  char buffer[65'536];
  for (;;) {
    auto count = recv(fd_, buffer, sizeof(buffer), 0);
    if (count < 0 && errno == EAGAIN)
      return;
    if (count < 0)
      fail("recv");
    if (count == 0) {
      if (on_bytes_)
        return;
      throw std::runtime_error("the node closed a connection");
    }
    std::string_view bytes{buffer, static_cast<size_t>(count)};
    if (on_bytes_) {
      on_bytes_(bytes);
      continue;
    }
    in_ += bytes;
    while (take_response())
      ;
  }
}

bool connection::take_response() {
  constexpr std::string_view end = "\r\n\r\n";
  constexpr std::string_view field = "\r\nContent-Length: ";
  auto head = in_.find(end);
  if (head == std::string::npos)
    return false;
  size_t size = 0;
  if (auto i = in_.find(field); i < head)
    std::from_chars(in_.data() + i + field.size(), in_.data() + head, size);
  auto start = head + end.size();
  if (in_.size() < start + size)
    return false;
  int status = 0;
  std::from_chars(in_.data() + 9, in_.data() + 12, status);
  auto body = in_.substr(start, size);
  in_.erase(0, start + size);
  auto handler = std::move(on_response_);
  on_response_ = nullptr;
  if (!handler)
    throw std::runtime_error("a response to no request");
  handler(status, body);
  return !in_.empty();
}

std::string render(std::string_view method, std::string_view path,
                   uint16_t port, std::string_view body) {
  std::string result{method};
  result += ' ';
  result += path;
  result += " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n";
  if (!body.empty())
    result += "Content-Type: application/json\r\n";
  if (method != "GET")
    result += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  result += "\r\n";
  result += body;
  return result;
}

} // namespace reeve::bench
