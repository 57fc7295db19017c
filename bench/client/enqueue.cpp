// bench/client/enqueue.cpp -- how fast the node takes jobs.
#include "bench/client/connection.hpp"
#include "bench/client/measures.hpp"
#include "bench/node/samples.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace reeve::bench {

namespace {

constexpr uint64_t longest_s = 600;

struct lane {
  std::unique_ptr<connection> to;
  uint64_t answered = 0;
  int64_t sent_ns = 0;
};

/// Keeps one request in flight on each connection.
class closed_loop {
public:
  explicit closed_loop(const arguments& x)
    : port_(static_cast<uint16_t>(x.number("port"))),
      type_(x.text("type", "BENCH")),
      get_(x.text("get", "")),
      total_(x.number("requests", 20'000)),
      lanes_(x.number("connections", 64)) {
    if (!get_.empty())
      get_ = render("GET", get_, port_);
    for (auto& one : lanes_)
      one.to = std::make_unique<connection>(loop_, port_);
    waits_.reserve(total_);
  }

  nlohmann::json run() {
    auto cpu = own_cpu_s();
    auto start = monotonic_ns();
    for (auto& one : lanes_)
      next(one);
    loop_.run([this] { return waits_.size() == total_; }, longest_s);
    auto seconds = double(monotonic_ns() - start) / 1e9;
    auto [least, most] =
      std::minmax_element(lanes_.begin(), lanes_.end(), [](auto& a, auto& b) {
        return a.answered < b.answered;
      });
    auto result = percentiles(waits_);
    result["connections"] = lanes_.size();
    result["seconds"] = seconds;
    result["per_s"] = double(total_) / seconds;
    result["least_per_connection"] = least->answered;
    result["most_per_connection"] = most->answered;
    result["client_cpu_s"] = own_cpu_s() - cpu;
    return result;
  }

private:
  void next(lane& one) {
    if (sent_ == total_)
      return;
    auto request = get_.empty()
      ? render("POST", "/api/jobs", port_, job_body(type_, sent_, 0))
      : get_;
    ++sent_;
    one.sent_ns = monotonic_ns();
    one.to->send(request, [this, &one](int status, std::string_view body) {
      waits_.push_back(monotonic_ns() - one.sent_ns);
      if (status != 200 && status != 202)
        throw std::runtime_error(std::to_string(status) + ' '
                                 + std::string{body});
      ++one.answered;
      next(one);
    });
  }

  loop loop_;
  uint16_t port_;
  std::string type_;
  std::string get_;
  uint64_t total_;
  uint64_t sent_ = 0;
  std::vector<lane> lanes_;
  std::vector<int64_t> waits_;
};

} // namespace

nlohmann::json post(const arguments& x) {
  return closed_loop{x}.run();
}

nlohmann::json bulk(const arguments& x) {
  auto port = static_cast<uint16_t>(x.number("port"));
  auto jobs = x.number("jobs", 50'000);
  auto batch = x.number("batch", 1'000);
  auto type = x.text("type", "BENCH");
  loop waiting;
  connection to{waiting, port};
  auto cpu = own_cpu_s();
  auto start = monotonic_ns();
  std::vector<int64_t> waits;
  for (uint64_t at = 0; at < jobs; at += batch) {
    std::string body = "{\"jobs\":[";
    for (auto i = at; i < std::min(at + batch, jobs); ++i)
      body += (i == at ? "" : ",") + job_body(type, i, 0);
    body += "]}";
    bool answered = false;
    auto sent = monotonic_ns();
    to.send(render("POST", "/api/jobs/batch", port, body),
            [&](int status, std::string_view text) {
              if (status != 202)
                throw std::runtime_error(std::to_string(status) + ' '
                                         + std::string{text});
              answered = true;
            });
    waiting.run([&] { return answered; }, longest_s);
    waits.push_back(monotonic_ns() - sent);
  }
  auto seconds = double(monotonic_ns() - start) / 1e9;
  auto result = percentiles(std::move(waits));
  result["jobs"] = jobs;
  result["batch"] = batch;
  result["seconds"] = seconds;
  result["per_s"] = double(jobs) / seconds;
  result["client_cpu_s"] = own_cpu_s() - cpu;
  return result;
}

} // namespace reeve::bench
