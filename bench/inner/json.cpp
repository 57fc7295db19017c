// bench/inner/json.cpp -- a job to and from its text.
#include "actors/gateway/json.hpp"
#include "actors/gateway/fields.hpp"
#include "bench/inner/job_example.hpp"
#include "net/json.hpp"
#include "persistence/uuid.hpp"
#include "persistence/writes.hpp"

#include <benchmark/benchmark.h>

namespace {

using namespace reeve;

void body_to_write(benchmark::State& state) {
  const std::string body = bench::example_body;
  for (auto _ : state) {
    auto parsed = net::parse_json(body);
    fields in{parsed, "", {"type", "target_id", "payload"}};
    enqueue_write result;
    result.id = make_uuid();
    result.type = in.text("type", 100);
    result.target_id = in.text("target_id", 500);
    result.payload = std::move(parsed["payload"]);
    benchmark::DoNotOptimize(result);
  }
}
BENCHMARK(body_to_write);

void job_to_response(benchmark::State& state) {
  const auto example = bench::example_job();
  for (auto _ : state) {
    auto response = json_response(202, to_json(example));
    benchmark::DoNotOptimize(response);
  }
}
BENCHMARK(job_to_response);

void copy_job(benchmark::State& state) {
  const auto example = bench::example_job();
  for (auto _ : state) {
    auto copy = example;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(copy_job);

void copy_json_text(benchmark::State& state) {
  const json_text example = bench::example_job().payload;
  for (auto _ : state) {
    auto copy = example;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(copy_json_text);

void text_of_value(benchmark::State& state) {
  const auto value = bench::example_job().payload.value();
  for (auto _ : state) {
    json_text made{value};
    benchmark::DoNotOptimize(made.text().data());
  }
}
BENCHMARK(text_of_value);

void value_of_text(benchmark::State& state) {
  const auto text = bench::example_job().payload.text();
  for (auto _ : state) {
    auto made = json_text::from_text(text);
    benchmark::DoNotOptimize(&made.value());
  }
}
BENCHMARK(value_of_text);

} // namespace
