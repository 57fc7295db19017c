// actors/process_metrics.cpp -- read from /proc, see proc(5).
#include "actors/process_metrics.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <mutex>
#include <sstream>
#include <string>
#include <system_error>
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
std::optional<double> read_boot_time() {
  std::ifstream file{"/proc/stat"};
  for (std::string word; file >> word;) {
    double seconds = 0;
    if (word == "btime" && file >> seconds)
      return seconds;
  }
  return std::nullopt;
}

// The file tells of every interrupt, too: it takes long to write and to read.
std::optional<double> boot_time() {
  static const auto result = read_boot_time();
  return result;
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

std::optional<int64_t> open_files() {
  constexpr auto folder = "/proc/self/fd";
  // Since Linux 6.2 the folder's size is their number.
  struct stat info {};
  if (stat(folder, &info) == 0 && info.st_size > 0)
    return info.st_size;
  static std::mutex mutex;
  static entry_counter files{folder};
  const std::lock_guard guard{mutex};
  auto result = files.count(std::chrono::steady_clock::now());
  // One of them is how we looked.
  return result ? std::optional{*result - 1} : std::nullopt;
}

} // namespace

std::optional<int64_t> entry_counter::count(time_point now) {
  if (counted_at_ && now < *counted_at_ + spacing)
    return last_;
  counted_at_ = now;
  std::error_code err;
  std::filesystem::directory_iterator entries{folder_, err};
  int64_t result = 0;
  for (; !err && entries != std::filesystem::directory_iterator{};
       entries.increment(err))
    ++result;
  last_ = err ? std::nullopt : std::optional{result};
  return last_;
}

void add_process_metrics(exposition& out) {
  if (const auto count = open_files())
    out.gauge("process_open_fds", "Number of open file descriptors.")
      .sample(static_cast<double>(*count));
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
