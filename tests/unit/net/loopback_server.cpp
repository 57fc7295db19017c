// tests/unit/net/loopback_server.cpp -- a real server on 127.0.0.1 whose
// answers a test writes byte by byte.
#include "tests/unit/net/loopback_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace reeve::net::test {

namespace {

sockaddr_in loopback(uint16_t port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(port);
  result.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return result;
}

int bind_any(uint16_t& port) {
  auto fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = loopback(0);
  socklen_t size = sizeof(address);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || ::bind(fd, raw, size) != 0
      || ::getsockname(fd, raw, &size) != 0)
    throw std::runtime_error("no loopback socket");
  port = ntohs(address.sin_port);
  return fd;
}

std::string url_of(uint16_t port, std::string_view path) {
  return "http://127.0.0.1:" + std::to_string(port) + std::string{path};
}

// Head and body of one request; what is there when the client closes early.
std::string read_request(int fd) {
  std::string result;
  std::array<char, 4096> buffer{};
  size_t wanted = 0;
  for (;;) {
    if (wanted == 0)
      if (auto end = result.find("\r\n\r\n"); end != std::string::npos) {
        wanted = end + 4;
        if (auto i = result.find("Content-Length: "); i < end)
          wanted += std::stoul(result.substr(i + 16));
      }
    auto is_tls = !result.empty() && result.front() == '\x16';
    if (is_tls || (wanted > 0 && result.size() >= wanted))
      return result;
    auto n = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (n <= 0)
      return result;
    result.append(buffer.data(), static_cast<size_t>(n));
  }
}

} // namespace

bool loopback_server::peer::send(std::string_view bytes) {
  while (!bytes.empty()) {
    auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool loopback_server::peer::closes_within(int milliseconds) {
  pollfd x{fd_, POLLIN, 0};
  char c = 0;
  return ::poll(&x, 1, milliseconds) > 0 && ::recv(fd_, &c, 1, 0) <= 0;
}

void loopback_server::peer::wait_for_close() {
  char c = 0;
  while (::recv(fd_, &c, 1, 0) > 0)
    ; // more of the request is of no interest
}

loopback_server::loopback_server(script run)
  : run_(std::move(run)), listener_(bind_any(port_)) {
  if (::listen(listener_, 16) != 0)
    throw std::runtime_error("cannot listen");
  thread_ = std::thread{[this] { serve(); }};
}

loopback_server::~loopback_server() {
  ::shutdown(listener_, SHUT_RDWR); // ends accept
  thread_.join();
  ::close(listener_);
}

std::string loopback_server::url(std::string_view path) const {
  return url_of(port_, path);
}

std::vector<std::string> loopback_server::requests() const {
  std::lock_guard guard{mutex_};
  return requests_;
}

void loopback_server::serve() {
  for (;;) {
    auto fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0)
      return;
    auto request = read_request(fd);
    {
      std::lock_guard guard{mutex_};
      requests_.push_back(std::move(request));
    }
    peer client{fd};
    run_(client);
    ::close(fd);
  }
}

full_port::full_port() {
  sockets_.push_back(bind_any(port_));
  if (::listen(sockets_.front(), 0) != 0)
    throw std::runtime_error("cannot listen");
  auto address = loopback(port_);
  for (int i = 0; i < 4; ++i) {
    auto fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    (void)::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    sockets_.push_back(fd);
  }
}

full_port::~full_port() {
  for (auto fd : sockets_)
    ::close(fd);
}

std::string full_port::url() const {
  return url_of(port_, "/");
}

uint16_t closed_port() {
  uint16_t result = 0;
  ::close(bind_any(result));
  return result;
}

} // namespace reeve::net::test
