// tests/unit/processors/fake_server.cpp -- the fake providers as a child
// process.
#include "tests/unit/processors/fake_server.hpp"

#include "net/client.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

extern char** environ;

namespace reeve::test {

namespace {

void close_fd(int& fd) {
  if (fd != -1)
    close(fd);
  fd = -1;
}

struct pipe_ends {
  int read = -1;
  int write = -1;

  pipe_ends() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
      throw std::runtime_error("pipe2 failed");
    read = fds[0];
    write = fds[1];
  }

  ~pipe_ends() {
    close_fd(read);
    close_fd(write);
  }
};

std::string read_line(int fd) {
  std::string result;
  for (char c = 0; read(fd, &c, 1) == 1 && c != '\n';)
    result += c;
  return result;
}

} // namespace

fake_server::fake_server() {
  pipe_ends in;
  pipe_ends out;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.write, STDOUT_FILENO);
  std::string python = REEVE_PYTHON3;
  std::string script = REEVE_TESTS_DIR "/fakes/providers.py";
  std::string option = "--until-eof";
  char* arguments[] = {python.data(), script.data(), option.data(), nullptr};
  auto err =
    posix_spawn(&pid_, python.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (err != 0) {
    pid_ = -1;
    throw std::runtime_error("cannot start " + python);
  }
  close_fd(out.write);
  std::swap(stdin_, in.write);
  constexpr std::string_view greeting = "listening on ";
  auto line = read_line(out.read);
  if (!line.starts_with(greeting)) {
    kill_child();
    throw std::runtime_error("the fake server said: " + line);
  }
  url_ = line.substr(greeting.size());
}

fake_server::~fake_server() {
  kill_child();
}

void fake_server::kill_child() {
  if (pid_ != -1) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_ = -1;
  close_fd(stdin_);
}

std::string fake_server::authority() const {
  return url_.substr(url_.find("://") + 3);
}

nlohmann::json fake_server::calls() const {
  return ask("GET", "/_calls")["calls"];
}

nlohmann::json fake_server::provider_calls() const {
  return ask("GET", "/_fake/calls")["calls"];
}

void fake_server::set_faults(const nlohmann::json& faults) const {
  ask("PUT", "/_fake/faults", faults.dump());
}

nlohmann::json fake_server::ask(std::string method, std::string_view path,
                                std::string body) const {
  net::client_request request;
  request.method = std::move(method);
  request.url = url_ + std::string{path};
  request.body = std::move(body);
  auto got = net::send(request, {});
  auto* response = std::get_if<net::http_response>(&got);
  if (response == nullptr || response->status != 200)
    throw std::runtime_error(response == nullptr ? "the fake server is gone"
                                                 : response->body);
  return nlohmann::json::parse(response->body);
}

int refusing_port() {
  // Bound, never listened at: nobody else can take it meanwhile.
  static auto fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  static auto bound = bind(fd, generic, size);
  if (bound != 0 || getsockname(fd, generic, &size) != 0)
    throw std::runtime_error("no port");
  return ntohs(address.sin_port);
}

std::string read_file(const std::string& path) {
  std::ifstream file{REEVE_TESTS_DIR "/" + path};
  if (!file)
    throw std::runtime_error("cannot read " + path);
  std::ostringstream result;
  result << file.rdbuf();
  return result.str();
}

} // namespace reeve::test
