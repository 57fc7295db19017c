// tests/unit/actors/run_context_fixture.hpp -- runs on real threads against a
// node that answers as the test says.
#pragma once

#include "actors/executor.hpp"
#include "actors/provider_gate.hpp"

#include "support/actor_fixture.hpp"
#include "support/mock_reader.hpp"

#include <caf/scoped_actor.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>

namespace reeve::test {

using namespace std::chrono_literals;

using body = std::function<outcome(job_context&)>;

class lambda_processor : public processor {
public:
  explicit lambda_processor(body f) : f_(std::move(f)) {
    // nop
  }

  outcome run(job_context& context) override {
    return f_(context);
  }

private:
  body f_;
};

inline step_result make_result(int n) {
  step_result result;
  result.result = n;
  return result;
}

inline caf::error away() {
  return caf::make_error(ec::store_unavailable, "connection refused");
}

// Takes the next of several answers; the last one stays.
template <class T>
std::function<caf::result<T>()> in_turn(std::deque<caf::expected<T>> answers) {
  auto left = std::make_shared<std::deque<caf::expected<T>>>(answers);
  return [left]() -> caf::result<T> {
    auto result = left->front();
    if (left->size() > 1)
      left->pop_front();
    return result;
  };
}

struct run_fixture {
  caf::actor_system_config config;
  caf::actor_system sys{config};
  caf::scoped_actor self{sys};
  std::stop_source control;
  job what = make_claimed(1);
  mock_reads_ptr reads = std::make_shared<mock_reads>();
  std::function<caf::result<changed>()> on_step;
  std::function<caf::result<permit_answer>()> on_permit;
  provider_gate_actor gate;
  /// How long a permit takes to get back to the gate.
  caf::timespan way_to_gate{0};

  std::mutex mutex;
  std::condition_variable heard;
  std::vector<std::pair<step_write, bool>> steps;
  std::vector<permit_return> returned;
  std::atomic<int> step_queries = 0;
  std::atomic<int> permit_requests = 0;

  ~run_fixture() {
    caf::anon_send_exit(gate, caf::exit_reason::kill);
  }

  run_services_actor make_services() {
    auto give = [this](run_services_actor::pointer self,
                       permit_request& x) -> caf::result<permit_answer> {
      ++permit_requests;
      if (on_permit)
        return on_permit();
      return self->delegate(gate, std::move(x));
    };
    auto take_back = [this](run_services_actor::pointer self,
                            const permit_return& x) -> caf::result<void> {
      {
        std::unique_lock guard{mutex};
        returned.push_back(x);
        heard.notify_all();
      }
      if (!gate)
        return caf::unit;
      auto promise = self->make_response_promise<void>();
      self->run_delayed(way_to_gate,
                        [=, this]() mutable { promise.delegate(gate, x); });
      return promise;
    };
    return sys.spawn([=, this](run_services_actor::pointer self)
                       -> run_services_actor::behavior_type {
      return reader_behavior<run_services_actor::behavior_type>(
        reads,
        [this](const card_search& x) {
          return answer_or_default<card_hits>(reads->similar, x);
        },
        [this](const step_write& x, bool repeated) -> caf::result<changed> {
          steps.emplace_back(x, repeated);
          return on_step ? on_step() : caf::result<changed>{changed{}};
        },
        [=](permit_request& x) { return give(self, x); },
        [=](const permit_return& x) { return take_back(self, x); });
    });
  }

  // The run's end, once it is there.
  std::future<outcome> start(body f) {
    auto processors = std::make_shared<processor_registry>();
    processors->add("CARD_ANALYSIS",
                    std::make_shared<lambda_processor>(std::move(f)));
    auto promise = std::make_shared<std::promise<outcome>>();
    auto result = promise->get_future();
    auto slot = sys.spawn([promise]() -> reeve::job_actor::behavior_type {
      return {
        [](status_atom) { return actor_report{}; },
        [](run_atom, const run_bundle_ptr&) {},
        [](interrupt_atom, int64_t, int64_t) {},
        [promise](const run_news& x) {
          for (auto& end : x.of->take_reports())
            promise->set_value(std::move(end.result));
        },
        [](const run_progress&) {},
        [](timeout_atom, uint64_t) {},
        [](flush_atom, uint64_t) {},
      };
    });
    auto uut = sys.spawn<executor_impl, caf::detached>(slot, make_services(),
                                                       processors);
    caf::anon_send(uut, run_atom_v, bundle_of({{what, control, 1min}}));
    caf::anon_send_exit(uut, caf::exit_reason::user_shutdown);
    return result;
  }

  static outcome end_of(std::future<outcome>& x,
                        std::chrono::milliseconds within = 1min) {
    CAF_REQUIRE(x.wait_for(within) == std::future_status::ready);
    return x.get();
  }

  outcome run(body f) {
    auto end = start(std::move(f));
    return end_of(end);
  }

  // The only permit that came back.
  permit_return returned_permit() {
    std::unique_lock guard{mutex};
    auto is_there = [this] { return !returned.empty(); };
    CAF_REQUIRE(heard.wait_for(guard, 1min, is_there));
    CAF_REQUIRE_EQUAL(returned.size(), 1u);
    return returned.front();
  }

  lane_report lane() {
    lane_report result;
    self->request(gate, 1min, lanes_query{})
      .receive([&](lane_report& x) { result = std::move(x); },
               [](const caf::error& err) { CAF_FAIL(err); });
    return result;
  }

  void start_gate() {
    lane_options options;
    options.name = "text/m";
    auto watcher = sys.spawn([]() -> lane_watcher_actor::behavior_type {
      return {[](const lane_report&) {}};
    });
    gate = sys.spawn<provider_gate_impl>(options, watcher, uint64_t{1});
  }

  // Asks the gate until it says what is waited for.
  void wait_for_lane(const std::function<bool(const lane_report&)>& pred) {
    auto deadline = std::chrono::steady_clock::now() + 1min;
    while (!pred(lane()))
      CAF_REQUIRE(std::chrono::steady_clock::now() < deadline);
  }

  void answer_permits(permit_answer x) {
    on_permit = [x]() -> caf::result<permit_answer> { return x; };
  }
};

inline permit_answer yes() {
  permit_answer result;
  result.permit = 7;
  return result;
}

inline outcome acquire_and_complete(job_context& context) {
  auto permit = context.acquire("text/m", 100);
  return outcome::completed(permit != nullptr);
}

inline outcome step_twice(job_context& context) {
  auto first = context.step("text", 1, [] { return make_result(41); });
  auto second = context.step("text", 1, [] { return make_result(42); });
  return outcome::completed({first, second});
}

} // namespace reeve::test
