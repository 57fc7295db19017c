// tests/support/postgres_cluster.cpp -- a PostgreSQL server of our own.
#include "postgres_cluster.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pqxx/pqxx>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace reeve {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

fs::path find_programs() {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe{
    popen("pg_config --bindir 2>/dev/null", "r"), pclose};
  char line[1024] = {};
  if (pipe && fgets(line, sizeof(line), pipe.get())) {
    fs::path result{std::string{line, std::string_view{line}.find('\n')}};
    if (fs::exists(result / "initdb"))
      return result;
  }
  // Debian keeps each version apart.
  if (fs::exists("/usr/lib/postgresql"))
    for (const auto& version : fs::directory_iterator("/usr/lib/postgresql"))
      if (fs::exists(version.path() / "bin" / "initdb"))
        return version.path() / "bin";
  throw std::runtime_error("no initdb found: is a PostgreSQL server there?");
}

// PostgreSQL refuses to run as root.
std::optional<std::pair<uid_t, gid_t>> unprivileged() {
  if (geteuid() != 0)
    return std::nullopt;
  const auto* user = getpwnam("postgres");
  if (!user)
    throw std::runtime_error("running as root, and no user postgres is there");
  return std::pair{user->pw_uid, user->pw_gid};
}

} // namespace

postgres_cluster::postgres_cluster() : postgres_cluster(options{}) {
  // nop
}

postgres_cluster::postgres_cluster(options settings)
  : settings_(settings), programs_(find_programs()) {
  auto name = (fs::temp_directory_path() / "reeve-pg-XXXXXX").string();
  if (!mkdtemp(name.data()))
    throw std::runtime_error("cannot make a temporary folder");
  folder_ = name;
  if (const auto user = unprivileged();
      user && chown(name.c_str(), user->first, user->second) != 0)
    throw std::runtime_error("cannot give the folder away");
  const auto initdb =
    spawn("initdb",
          {"-D", (folder_ / "data").string(), "-U", "postgres", "-A", "trust",
           "-E", "UTF8", "--locale=C", "--no-sync"});
  int status = 0;
  waitpid(initdb, &status, 0);
  if (status != 0)
    throw std::runtime_error("initdb failed: see " + log_file().string());
  start();
}

postgres_cluster::~postgres_cluster() {
  stop_immediate();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

postgres_cluster& postgres_cluster::shared() {
  static postgres_cluster result;
  return result;
}

std::string postgres_cluster::url(const std::string& database) const {
  return "postgresql://postgres@/" + database + "?host=" + folder_.string();
}

std::string postgres_cluster::create_database(const std::string& original) {
  auto name = "test_" + std::to_string(++databases_);
  pqxx::connection db{url()};
  pqxx::nontransaction{db}.exec("CREATE DATABASE " + db.quote_name(name)
                                + " TEMPLATE " + db.quote_name(original));
  return name;
}

void postgres_cluster::drop_database(const std::string& name) {
  pqxx::connection db{url()};
  pqxx::nontransaction{db}.exec("DROP DATABASE IF EXISTS " + db.quote_name(name)
                                + " WITH (FORCE)");
}

void postgres_cluster::stop_immediate() {
  if (server_ < 0)
    return;
  kill(server_, SIGQUIT);
  waitpid(server_, nullptr, 0);
  server_ = -1;
}

void postgres_cluster::start() {
  if (server_ >= 0)
    return;
  server_ =
    spawn("postgres",
          {"-D", (folder_ / "data").string(), "-k", folder_.string(), "-c",
           "listen_addresses=", "-c",
           std::string{"fsync="} + (settings_.fsync ? "on" : "off"), "-c",
           "max_connections=" + std::to_string(settings_.max_connections), "-c",
           "shared_buffers=32MB"});
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (PQping(url().c_str()) != PQPING_OK) {
    if (waitpid(server_, nullptr, WNOHANG) == server_) {
      server_ = -1;
      throw std::runtime_error("postgres ended: see " + log_file().string());
    }
    if (std::chrono::steady_clock::now() > deadline)
      throw std::runtime_error("postgres does not answer");
    std::this_thread::sleep_for(20ms);
  }
}

int postgres_cluster::terminate_backends(const std::string& database,
                                         const std::string& query) {
  pqxx::connection db{url()};
  return pqxx::nontransaction{db}
    .exec("SELECT count(*) FILTER (WHERE pg_terminate_backend(pid, 10000))"
          " FROM pg_stat_activity WHERE datname = $1 AND query LIKE $2"
          " AND pid <> pg_backend_pid()",
          pqxx::params{database, query})
    .one_row()[0]
    .as<int>();
}

pid_t postgres_cluster::spawn(const std::string& program,
                              const std::vector<std::string>& arguments) const {
  // All that allocates is done before the fork: other threads may be running.
  const auto path = (programs_ / program).string();
  std::vector<char*> argv{const_cast<char*>(path.c_str())};
  for (const auto& x : arguments)
    argv.push_back(const_cast<char*>(x.c_str()));
  argv.push_back(nullptr);
  const auto log = log_file().string();
  const auto user = unprivileged();
  const auto parent = getpid();
  const auto result = fork();
  if (result < 0)
    throw std::runtime_error("cannot fork");
  if (result > 0)
    return result;
  if (user
      && (setgroups(0, nullptr) != 0 || setgid(user->second) != 0
          || setuid(user->first) != 0))
    _exit(126);
  // After setuid, which resets it.
  prctl(PR_SET_PDEATHSIG, SIGQUIT);
  if (getppid() != parent)
    _exit(126);
  const auto out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const auto in = open("/dev/null", O_RDONLY);
  if (out < 0 || in < 0 || chdir("/") != 0)
    _exit(126);
  dup2(in, 0);
  dup2(out, 1);
  dup2(out, 2);
  execv(path.c_str(), argv.data());
  _exit(127);
}

} // namespace reeve
