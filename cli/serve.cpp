// cli/serve.cpp -- a node from its settings to its exit code.
#include "cli/serve.hpp"

#include "cli/memory.hpp"
#include "config/log.hpp"
#include "config/options.hpp"
#include "persistence/job_store.hpp"

#include <caf/all.hpp>
#include <caf/io/middleman.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

namespace reeve {

namespace {

using namespace std::chrono_literals;

constexpr auto boot_timeout = 1h;
/// A processor that never returns must not keep the process alive.
constexpr auto exit_grace = 2s;
/// Tries to reach the database at start, a second apart.
constexpr int connect_tries = 10;
/// A node that was killed a moment ago may hold its name that long.
constexpr int lock_tries = 10;

class file_descriptor {
public:
  explicit file_descriptor(int fd) : fd_(fd) {
    // nop
  }
  ~file_descriptor() {
    close(fd_);
  }
  file_descriptor(const file_descriptor&) = delete;
  file_descriptor& operator=(const file_descriptor&) = delete;

  int get() const noexcept {
    return fd_;
  }

private:
  int fd_;
};

// Blocked in every thread, so that only `wait_for_end` sees them.
sigset_t block_stop_signals() {
  sigset_t result;
  sigemptyset(&result);
  sigaddset(&result, SIGTERM);
  sigaddset(&result, SIGINT);
  pthread_sigmask(SIG_BLOCK, &result, nullptr);
  return result;
}

std::unique_ptr<node_lock> lock_name(store_factory& stores,
                                     const std::string& name) {
  for (int tries = lock_tries; tries > 0; --tries) {
    if (auto result = stores.lock_node(name))
      return result;
    std::this_thread::sleep_for(500ms);
  }
  throw bad_option("node.name: another node named '" + name
                   + "' is running on this database; give each its own");
}

void migrate(store_factory& stores) {
  for (int tries = connect_tries;; --tries) {
    try {
      if (auto count = stores.migrate(); count > 0)
        log::info("store.migrated", {{"migrations", count}});
      return;
    } catch (const store_unavailable& err) {
      log::warn("store.unavailable", {{"error", err.what()}});
      if (tries <= 1)
        throw;
      std::this_thread::sleep_for(1s);
    }
  }
}

// Says where the node listens once it does. Meanwhile signals are obeyed: a
// start may wait for the database.
void boot(caf::actor_system& sys, const supervisor_actor& supervisor,
          const std::string& address) {
  sys.spawn([supervisor, address](caf::event_based_actor* self) {
    self->request(supervisor, boot_timeout, boot_atom_v)
      .then(
        [address](uint16_t port) {
          auto host = address.find(':') == std::string::npos
            ? address
            : '[' + address + ']';
          std::cout << "listening on http://" << host << ':' << port
                    << std::endl;
        },
        [supervisor](const caf::error& err) {
          // It was told to stop before it served.
          if (err == caf::sec::broken_promise)
            return;
          log::error("node.boot-failed", {{"error", to_string(err)}});
          caf::anon_send_exit(supervisor, caf::exit_reason::kill);
        });
  });
}

// Returns once the supervisor has ended; signals make it drain.
void wait_for_end(const supervisor_actor& supervisor, int signals, int ended) {
  bool draining = false;
  rest_detector rest;
  constexpr std::chrono::milliseconds wait = rest_detector::interval;
  pollfd fds[] = {{signals, POLLIN, 0}, {ended, POLLIN, 0}};
  for (;;) {
    auto ready = poll(fds, 2, static_cast<int>(wait.count()));
    if (ready == 0 && rest.tick(process_cpu_time()))
      give_memory_back();
    if (ready <= 0)
      continue;
    if ((fds[1].revents & POLLIN) != 0)
      return;
    signalfd_siginfo info;
    if ((fds[0].revents & POLLIN) == 0
        || read(signals, &info, sizeof(info)) != sizeof(info))
      continue;
    log::info("node.signal", {{"signal", info.ssi_signo}});
    if (draining)
      std::_Exit(exit_failed);
    draining = true;
    caf::anon_send(supervisor, drain_atom_v);
  }
}

// Each client is a descriptor, and the usual soft limit is 1,024.
void raise_descriptor_limit(const options& config) {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  constexpr rlim_t own = 64;
  if (limit.rlim_cur < config.http.max_connections + own)
    log::warn("node.few-descriptors",
              {{"limit", limit.rlim_cur},
               {"max_connections", config.http.max_connections}});
}

int run(options& config, const processor_additions& add) {
  raise_descriptor_limit(config);
  bound_heaps();
  auto stores = store_factory::make(config.database_url);
  // What cannot run leaves the database as it was.
  check_parts(config);
  migrate(*stores);
  auto lock = lock_name(*stores, config.node_name);
  // Until here nothing ran that a signal could not simply end.
  auto signals = block_stop_signals();
  file_descriptor signal_fd{signalfd(-1, &signals, SFD_CLOEXEC)};
  file_descriptor ended_fd{eventfd(0, EFD_CLOEXEC)};
  std::atomic<int> result{exit_failed};
  std::jthread watchdog;
  {
    caf::actor_system sys{config};
    auto supervisor = spawn_node(sys, config, *stores, add);
    supervisor->attach_functor(
      [&result, fd = ended_fd.get()](const caf::error& reason) {
        if (reason == caf::exit_reason::user_shutdown)
          result = exit_ok;
        else
          log::error("node.failed", {{"reason", to_string(reason)}});
        eventfd_write(fd, 1);
      });
    boot(sys, supervisor, config.http.address);
    wait_for_end(supervisor, signal_fd.get(), ended_fd.get());
    supervisor = nullptr;
    watchdog = std::jthread{[&result](std::stop_token stop) {
      std::mutex mutex;
      std::condition_variable_any changed;
      std::unique_lock guard{mutex};
      changed.wait_for(guard, stop, exit_grace, [] { return false; });
      if (!stop.stop_requested())
        std::_Exit(result);
    }};
  }
  return result;
}

} // namespace

int serve(std::vector<std::string> arguments,
          const std::vector<std::string>& environment,
          const processor_additions& add) {
  auto print = std::erase(arguments, "--print-config") > 0;
  options config;
  try {
    config.load(arguments, environment);
    if (print) {
      std::cout << config.print();
      return exit_ok;
    }
    log::start(config.log_level,
               config.log_format == "json" ? log::format::json
                                           : log::format::text);
    for (const auto& warning : config.warnings())
      log::warn("config.unknown-variable", {{"detail", warning}});
    return run(config, add);
  } catch (const bad_option& err) {
    std::cerr << "reeve: " << err.what() << '\n';
    return exit_bad_usage;
  } catch (const bad_database_url& err) {
    std::cerr << "reeve: database.url: " << err.what() << '\n';
    return exit_bad_usage;
  } catch (const std::exception& err) {
    log::error("node.failed", {{"error", err.what()}});
    return exit_failed;
  }
}

} // namespace reeve
