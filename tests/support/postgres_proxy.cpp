// tests/support/postgres_proxy.cpp -- forwarding, byte by byte.
#include "support/postgres_proxy.hpp"

#include <array>
#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace reeve {

namespace {

constexpr int pause_ms = 5;

bool can_read(int fd) {
  pollfd what{fd, POLLIN, 0};
  return poll(&what, 1, pause_ms) > 0;
}

bool write_all(int fd, const char* data, size_t size) {
  while (size > 0) {
    const auto n = send(fd, data, size, MSG_NOSIGNAL);
    if (n <= 0)
      return false;
    data += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool read_all(int fd, char* data, size_t size) {
  while (size > 0) {
    const auto n = recv(fd, data, size, 0);
    if (n <= 0)
      return false;
    data += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

uint32_t read_number(int fd) {
  uint32_t result = 0;
  if (!read_all(fd, reinterpret_cast<char*>(&result), sizeof result))
    return 0;
  return ntohl(result);
}

} // namespace

postgres_proxy::postgres_proxy(const std::filesystem::path& folder)
  : socket_(folder / ".s.PGSQL.5432") {
  doorman_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (doorman_ < 0 || bind(doorman_, any, size) != 0 || listen(doorman_, 8) != 0
      || getsockname(doorman_, any, &size) != 0)
    throw std::runtime_error("postgres_proxy: no port");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread{[this] { serve(); }};
}

postgres_proxy::~postgres_proxy() {
  stops_ = true;
  thread_.join();
  close(doorman_);
}

void postgres_proxy::run_aside(const std::string& sql) {
  injected_ = &sql;
  injected_.notify_all();
  injected_.wait(&sql);
}

void postgres_proxy::serve() {
  while (!stops_) {
    if (!can_read(doorman_))
      continue;
    const auto client = accept4(doorman_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0)
      continue;
    forward(client);
    close(client);
  }
}

void postgres_proxy::forward(int client) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_.c_str(), sizeof address.sun_path - 1);
  const auto server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto open =
    connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address)
    == 0;
  std::array<pollfd, 2> ends{{{client, POLLIN, 0}, {server, POLLIN, 0}}};
  std::array<char, 16'384> buffer;
  while (open && !stops_) {
    if (poll(ends.data(), ends.size(), pause_ms) == 0) {
      // Nobody is in the middle of anything.
      run_injected(server);
      continue;
    }
    for (size_t i = 0; i < ends.size() && open; ++i) {
      if (ends[i].revents == 0)
        continue;
      const auto n = recv(ends[i].fd, buffer.data(), buffer.size(), 0);
      open = n > 0
        && (swallows_
            || write_all(ends[1 - i].fd, buffer.data(),
                         static_cast<size_t>(n)));
    }
  }
  close(server);
}

// A simple query, and its answers up to `ReadyForQuery`.
void postgres_proxy::run_injected(int server) {
  const auto* sql = injected_.load();
  if (!sql)
    return;
  const auto size = htonl(static_cast<uint32_t>(sql->size() + 5));
  std::string message = "Q";
  message.append(reinterpret_cast<const char*>(&size), sizeof size);
  message.append(sql->c_str(), sql->size() + 1);
  write_all(server, message.data(), message.size());
  for (char type = 0; type != 'Z' && read_all(server, &type, 1);) {
    const auto rest = read_number(server);
    std::string ignored(rest < 4 ? 0 : rest - 4, '\0');
    if (!read_all(server, ignored.data(), ignored.size()))
      break;
  }
  injected_ = nullptr;
  injected_.notify_all();
}

} // namespace reeve
