// bench/node/main.cpp -- `reeve` with one job type more: BENCH does nothing.
//
// With BENCH_SAMPLES=FILE it counts its runs in that file (samples.hpp),
// and notes how long a job waited whose payload has `t`, the nanoseconds of
// CLOCK_MONOTONIC at which its client sent it.
#include "bench/node/samples.hpp"
#include "cli/program.hpp"

#include <cstdlib>

namespace {

using namespace reeve;

class no_op : public processor {
public:
  no_op() {
    if (auto* path = std::getenv("BENCH_SAMPLES")) {
      size_t bytes = 0;
      to_ = bench::map_samples(path, bytes);
      room_ = bench::waits_in(bytes);
    }
  }

  outcome run(job_context& context) override {
    if (to_ != nullptr)
      note(context.current());
    return outcome::completed(nullptr);
  }

private:
  void note(const job& x) {
    auto now = bench::monotonic_ns();
    int64_t never = 0;
    if (to_->first_ns.load() == 0)
      to_->first_ns.compare_exchange_strong(never, now);
    // Without room for waits there are none to look for.
    if (room_ > 0 && x.payload.value().contains("t")) {
      auto at = to_->taken.fetch_add(1);
      if (at < room_)
        to_->waits[at] = now - x.payload.value()["t"].get<int64_t>();
    }
    // Last: who reads this count finds the rest.
    ++to_->started;
  }

  bench::samples* to_ = nullptr;
  size_t room_ = 0;
};

} // namespace

int main(int argc, char** argv, char** envp) {
  return run_program(argc, argv, envp, [](processor_registry& types) {
    types.add("BENCH", std::make_shared<no_op>());
  });
}
