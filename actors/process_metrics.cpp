// actors/process_metrics.cpp -- read from /proc, see proc(5).
#include "actors/process_metrics.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace reeve {

namespace {

// The fields of /proc/self/stat behind the program's name, which may have
// anything in it; the first one is the third.
std::vector<std::string> stat_fields() {
  std::ifstream file{"/proc/self/stat"};
  std::string line;
  std::getline(file, line);
  const auto end = line.rfind(')');
  std::vector<std::string> result;
  if (end == std::string::npos)
    return result;
  std::istringstream rest{line.substr(end + 1)};
  for (std::string field; rest >> field;)
    result.push_back(field);
  return result;
}

// Seconds since the epoch.
std::optional<double> boot_time() {
  std::ifstream file{"/proc/stat"};
  for (std::string word; file >> word;) {
    double seconds = 0;
    if (word == "btime" && file >> seconds)
      return seconds;
  }
  return std::nullopt;
}

void add_limit(exposition& out, int which, std::string_view name,
               std::string_view help) {
  rlimit limit{};
  if (getrlimit(which, &limit) != 0)
    return;
  const auto is_infinite = limit.rlim_cur == RLIM_INFINITY;
  out.gauge(name, help)
    .sample(is_infinite ? std::numeric_limits<double>::infinity()
                        : static_cast<double>(limit.rlim_cur));
}

void add_open_files(exposition& out) {
  std::error_code err;
  std::filesystem::directory_iterator files{"/proc/self/fd", err};
  if (err)
    return;
  const auto count = std::distance(begin(files), end(files));
  // One of them is how we looked.
  out.gauge("process_open_fds", "Number of open file descriptors.")
    .sample(static_cast<double>(count - 1));
}

} // namespace

void add_process_metrics(exposition& out) {
  add_open_files(out);
  add_limit(out, RLIMIT_NOFILE, "process_max_fds",
            "Maximum number of open file descriptors.");
  add_limit(out, RLIMIT_AS, "process_virtual_memory_max_bytes",
            "Maximum amount of virtual memory available in bytes.");
  // Positions of proc(5), less three.
  constexpr size_t utime = 11, stime = 12, threads = 17, started = 19,
                   virtual_bytes = 20, resident_pages = 21;
  const auto fields = stat_fields();
  if (fields.size() <= resident_pages)
    return;
  auto field = [&](size_t i) { return std::stod(fields[i]); };
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  out
    .counter("process_cpu_seconds_total",
             "Total user and system CPU time spent in seconds.")
    .sample((field(utime) + field(stime)) / ticks);
  out.gauge("process_threads", "Number of OS threads in the process.")
    .sample(field(threads));
  out.gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.")
    .sample(field(virtual_bytes));
  out.gauge("process_resident_memory_bytes", "Resident memory size in bytes.")
    .sample(field(resident_pages) * static_cast<double>(sysconf(_SC_PAGESIZE)));
  if (const auto boot = boot_time())
    out
      .gauge("process_start_time_seconds",
             "Start time of the process since unix epoch in seconds.")
      .sample(*boot + field(started) / ticks);
}

} // namespace reeve
