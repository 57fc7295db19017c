// bench/inner/http.cpp -- the heads of a request and of a response.
#include "bench/inner/job_example.hpp"
#include "net/request_head.hpp"
#include "net/response_writer.hpp"

#include <benchmark/benchmark.h>

#include <string>

namespace {

using namespace reeve;

std::string example_head() {
  return "POST /api/jobs HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"
         "User-Agent: bench\r\nAccept: */*\r\n"
         "Content-Type: application/json\r\nContent-Length: "
    + std::to_string(std::string{bench::example_body}.size()) + "\r\n\r\n";
}

void scan_head(benchmark::State& state) {
  const net::connection_limits limits;
  const auto head = example_head();
  for (auto _ : state) {
    net::head_scanner scanner{limits};
    auto refused = scanner.scan(head);
    benchmark::DoNotOptimize(refused);
    benchmark::DoNotOptimize(scanner.size());
  }
}
BENCHMARK(scan_head);

void parse_head(benchmark::State& state) {
  const net::connection_limits limits;
  const auto head = example_head();
  for (auto _ : state) {
    auto parsed = net::parse_head(head, limits);
    benchmark::DoNotOptimize(parsed);
  }
}
BENCHMARK(parse_head);

void append_head(benchmark::State& state) {
  net::http_response response;
  response.status = 202;
  response.headers.emplace_back("Content-Type", "application/json");
  response.headers.emplace_back(
    "Location", "/api/jobs/0192d5c8-8f50-7c3a-9f4e-3b1d2f6a7b8c");
  response.headers.emplace_back("ETag", "\"1\"");
  for (auto _ : state) {
    std::string head;
    net::append_head(head, response, {700, "", 1'800'000'000});
    benchmark::DoNotOptimize(head.data());
  }
}
BENCHMARK(append_head);

} // namespace
