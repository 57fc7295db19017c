// bench/client/latency.cpp -- from the request sent to the processor started.
#include "bench/client/connection.hpp"
#include "bench/client/measures.hpp"
#include "bench/node/samples.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <stdexcept>
#include <thread>

namespace reeve::bench {

namespace {

using namespace std::chrono_literals;

constexpr uint64_t longest_s = 60;

void check_status(int status, std::string_view body) {
  if (status != 202)
    throw std::runtime_error(std::to_string(status) + ' ' + std::string{body});
}

samples* samples_of(const arguments& x) {
  size_t bytes = 0;
  return map_samples(x.text("samples", "").c_str(), bytes);
}

} // namespace

nlohmann::json idle(const arguments& x) {
  auto port = static_cast<uint16_t>(x.number("port"));
  auto jobs = x.number("jobs", 1'000);
  auto* seen = samples_of(x);
  loop waiting;
  connection to{waiting, port};
  std::vector<int64_t> answers;
  for (uint64_t i = 1; i <= jobs; ++i) {
    bool answered = false;
    auto sent = monotonic_ns();
    to.send(render("POST", "/api/jobs", port, job_body("BENCH", i, sent)),
            [&](int status, std::string_view body) {
              check_status(status, body);
              answers.push_back(monotonic_ns() - sent);
              answered = true;
            });
    // A coarse look is enough: the node writes down when it began.
    waiting.run([&] { return answered && seen->started.load() >= i; },
                longest_s, 1'000, [] {});
    // Let the node finish the job and go idle again.
    std::this_thread::sleep_for(10ms);
  }
  auto result = percentiles_of(x.text("samples", ""));
  result["answer_p50_ms"] = percentiles(std::move(answers))["p50_ms"];
  return result;
}

nlohmann::json steady(const arguments& x) {
  auto port = static_cast<uint16_t>(x.number("port"));
  auto rate = x.number("rate", 500);
  auto total = rate * x.number("seconds", 10);
  auto* seen = samples_of(x);
  loop waiting;
  std::vector<std::unique_ptr<connection>> all;
  std::vector<connection*> free;
  for (uint64_t i = x.number("connections", 16); i > 0; --i) {
    all.push_back(std::make_unique<connection>(waiting, port));
    free.push_back(all.back().get());
  }
  std::deque<std::string> due;
  uint64_t made = 0;
  uint64_t answered = 0;
  auto start = monotonic_ns();
  std::function<void()> send_due = [&] {
    while (!due.empty() && !free.empty()) {
      auto* to = free.back();
      free.pop_back();
      auto request = std::move(due.front());
      due.pop_front();
      to->send(request, [&, to](int status, std::string_view body) {
        check_status(status, body);
        ++answered;
        free.push_back(to);
        send_due();
      });
    }
  };
  // A job's clock starts when it is due, also when no connection is free.
  auto tick = [&] {
    auto now = monotonic_ns();
    auto until = std::min<uint64_t>(
      total, uint64_t(double(now - start) / 1e9 * double(rate)) + 1);
    for (; made < until; ++made)
      due.push_back(
        render("POST", "/api/jobs", port, job_body("BENCH", made, now)));
    send_due();
  };
  waiting.run(
    [&] { return answered == total && seen->started.load() >= total; },
    longest_s, 1'000, tick);
  auto result = percentiles_of(x.text("samples", ""));
  result["rate"] = rate;
  result["sent"] = total;
  return result;
}

} // namespace reeve::bench
