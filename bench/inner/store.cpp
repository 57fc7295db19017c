// bench/inner/store.cpp -- a thousand writes in one transaction.
//
// SQLite in a temporary file, durable. Set REEVE_BENCH_DATABASE to the URL of
// an empty database (`postgres://…`) to measure that one instead.
#include "bench/inner/job_example.hpp"
#include "persistence/job_store.hpp"
#include "persistence/uuid.hpp"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

namespace {

using namespace reeve;

constexpr size_t batch = 1'000;

/// A database of its own, gone with this object.
class database {
public:
  database() {
    auto pattern =
      (std::filesystem::temp_directory_path() / "reeve-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw std::runtime_error("no temporary folder");
    folder_ = pattern;
    auto* given = std::getenv("REEVE_BENCH_DATABASE");
    factory_ = store_factory::make(
      given != nullptr ? given : "sqlite:" + folder_ + "/reeve.db");
    factory_->migrate();
    store_ = factory_->connect();
  }

  ~database() {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  job_store& store() {
    return *store_;
  }

private:
  std::string folder_;
  std::unique_ptr<store_factory> factory_;
  std::unique_ptr<job_store> store_;
};

std::vector<write_entry> enqueues() {
  auto example = bench::example_job();
  std::vector<write_entry> result(batch);
  for (auto& entry : result) {
    enqueue_write one;
    one.id = make_uuid();
    one.type = example.type;
    one.target_id = example.target_id;
    one.payload = example.payload;
    entry.what = std::move(one);
  }
  return result;
}

void make_enqueues(benchmark::State& state) {
  for (auto _ : state) {
    auto made = enqueues();
    benchmark::DoNotOptimize(made);
  }
  state.SetItemsProcessed(state.iterations() * batch);
}
BENCHMARK(make_enqueues)->Unit(benchmark::kMicrosecond);

void apply_enqueues(benchmark::State& state) {
  database db;
  for (auto _ : state) {
    state.PauseTiming();
    auto made = enqueues();
    state.ResumeTiming();
    auto answers = db.store().apply(made);
    benchmark::DoNotOptimize(answers);
  }
  state.SetItemsProcessed(state.iterations() * batch);
}
BENCHMARK(apply_enqueues)->Unit(benchmark::kMillisecond)->UseRealTime();

} // namespace
