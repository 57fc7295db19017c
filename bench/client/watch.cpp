// bench/client/watch.cpp -- from a change to the watcher that hears of it.
#include "bench/client/connection.hpp"
#include "bench/client/measures.hpp"
#include "bench/node/samples.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace reeve::bench {

namespace {

constexpr uint64_t longest_s = 120;
constexpr uint64_t batch = 1'000;

void check_status(int status, int wanted, std::string_view body) {
  if (status != wanted)
    throw std::runtime_error(std::to_string(status) + ' ' + std::string{body});
}

std::vector<std::string> add_jobs(loop& waiting, uint16_t port,
                                  uint64_t count) {
  connection to{waiting, port};
  std::vector<std::string> result;
  while (result.size() < count) {
    std::string body = "{\"jobs\":[";
    auto until = std::min(count, result.size() + batch);
    for (auto i = result.size(); i < until; ++i)
      body += (i == result.size() ? "" : ",") + job_body("BENCH", i, 0);
    body += "]}";
    to.send(render("POST", "/api/jobs/batch", port, body),
            [&](int status, std::string_view text) {
              check_status(status, 202, text);
              auto answer = nlohmann::json::parse(text);
              for (auto& job : answer["jobs"])
                result.push_back(job["id"].get<std::string>());
            });
    waiting.run([&] { return result.size() >= until; }, longest_s);
  }
  return result;
}

double resident_kb(uint64_t pid) {
  std::ifstream file{"/proc/" + std::to_string(pid) + "/status"};
  std::string line;
  while (std::getline(file, line))
    if (line.compare(0, 6, "VmRSS:") == 0)
      return std::stod(line.substr(6));
  throw std::runtime_error("no process " + std::to_string(pid));
}

/// One job, its stream, and when it was told to change.
struct watcher {
  std::unique_ptr<connection> stream;
  /// The last bytes, since an event may come in parts.
  std::string tail;
  bool connected = false;
  int64_t asked_ns = 0;
  int64_t heard_ns = 0;
};

} // namespace

nlohmann::json watch(const arguments& x) {
  auto port = static_cast<uint16_t>(x.number("port"));
  auto pid = x.number("pid");
  auto rate = x.number("rate", 1'000);
  loop waiting;
  auto ids = add_jobs(waiting, port, x.number("watchers", 10'000));
  auto before_kb = resident_kb(pid);
  std::vector<watcher> watchers(ids.size());
  uint64_t connected = 0;
  uint64_t heard = 0;
  auto start = monotonic_ns();
  for (size_t i = 0; i < ids.size(); ++i) {
    auto& one = watchers[i];
    one.stream = std::make_unique<connection>(waiting, port);
    one.stream->stream(
      render("GET", "/api/jobs/" + ids[i] + "/events", port),
      [&](std::string_view bytes) {
        one.tail += bytes;
        if (!one.connected
            && one.tail.find("\"PENDING\"") != std::string::npos) {
          one.connected = true;
          ++connected;
        }
        if (one.heard_ns == 0
            && one.tail.find("\"CANCELLED\"") != std::string::npos) {
          one.heard_ns = monotonic_ns();
          ++heard;
        }
        constexpr size_t longest_word = 16;
        if (one.tail.size() > longest_word)
          one.tail.erase(0, one.tail.size() - longest_word);
      });
    // So that the node's queue of new connections never overflows.
    if (i % 64 == 63)
      waiting.run([&] { return connected + 64 > i; }, longest_s);
  }
  waiting.run([&] { return connected == ids.size(); }, longest_s);
  auto connect_s = double(monotonic_ns() - start) / 1e9;
  auto after_kb = resident_kb(pid);
  std::vector<std::unique_ptr<connection>> all;
  std::vector<connection*> free;
  for (int i = 0; i < 32; ++i) {
    all.push_back(std::make_unique<connection>(waiting, port));
    free.push_back(all.back().get());
  }
  size_t next = 0;
  std::vector<int64_t> answers;
  start = monotonic_ns();
  auto tick = [&] {
    auto due = std::min<uint64_t>(
      ids.size(),
      uint64_t(double(monotonic_ns() - start) / 1e9 * double(rate)) + 1);
    for (; next < due && !free.empty(); ++next) {
      auto* to = free.back();
      free.pop_back();
      auto sent = watchers[next].asked_ns = monotonic_ns();
      to->send(render("POST", "/api/jobs/" + ids[next] + "/cancel", port),
               [&, to, sent](int status, std::string_view body) {
                 check_status(status, 200, body);
                 answers.push_back(monotonic_ns() - sent);
                 free.push_back(to);
               });
    }
  };
  waiting.run(
    [&] { return heard == ids.size() && answers.size() == ids.size(); },
    longest_s, 1'000, tick);
  auto seconds = double(monotonic_ns() - start) / 1e9;
  std::vector<int64_t> waits;
  for (const auto& one : watchers)
    waits.push_back(one.heard_ns - one.asked_ns);
  auto result = percentiles(std::move(waits));
  result["watchers"] = ids.size();
  result["connect_s"] = connect_s;
  result["changes_per_s"] = double(ids.size()) / seconds;
  result["rss_before_mb"] = before_kb / 1024;
  result["rss_connected_mb"] = after_kb / 1024;
  result["rss_after_mb"] = resident_kb(pid) / 1024;
  result["kb_per_watcher"] = (after_kb - before_kb) / double(ids.size());
  result["answer_p50_ms"] = percentiles(std::move(answers))["p50_ms"];
  return result;
}

} // namespace reeve::bench
