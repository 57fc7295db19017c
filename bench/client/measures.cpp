// bench/client/measures.cpp -- what the measures share.
#include "bench/client/measures.hpp"

#include "bench/node/samples.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

namespace reeve::bench {

nlohmann::json percentiles(std::vector<int64_t> xs) {
  std::sort(xs.begin(), xs.end());
  auto at = [&xs](double p) {
    auto rank = static_cast<size_t>(std::ceil(p * double(xs.size())));
    auto ns = xs[std::min(xs.size(), std::max<size_t>(rank, 1)) - 1];
    return std::round(double(ns) / 1e4) / 100;
  };
  if (xs.empty())
    return {{"n", 0}};
  return {{"n", xs.size()},
          {"p50_ms", at(0.5)},
          {"p95_ms", at(0.95)},
          {"p99_ms", at(0.99)},
          {"max_ms", at(1)}};
}

nlohmann::json percentiles_of(const std::string& samples_file) {
  size_t bytes = 0;
  auto* from = map_samples(samples_file.c_str(), bytes);
  auto count = std::min<size_t>(from->taken, waits_in(bytes));
  std::vector<int64_t> waits;
  for (size_t i = 0; i < count; ++i)
    waits.push_back(from->waits[i]);
  return percentiles(std::move(waits));
}

std::string job_body(const std::string& type, uint64_t number, int64_t t_ns) {
  static std::mt19937_64 random{std::random_device{}()};
  auto a = random();
  auto b = random();
  char uuid[37];
  std::snprintf(uuid, sizeof(uuid), "%08x-%04x-4%03x-8%03x-%012llx",
                unsigned(a >> 32), unsigned(a >> 16 & 0xffff),
                unsigned(a & 0xfff), unsigned(b >> 52),
                static_cast<unsigned long long>(b & 0xffffffffffff));
  auto result = R"({"type":")" + type + R"(","target_id":")" + uuid
    + R"(","payload":{"id":)" + std::to_string(number) + R"(,"target":")" + uuid
    + '"';
  if (t_ns != 0)
    result += ",\"t\":" + std::to_string(t_ns);
  return result + "}}";
}

double own_cpu_s() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  auto seconds = [](const timeval& x) {
    return double(x.tv_sec) + double(x.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

} // namespace reeve::bench
