// tests/support/actor_fixture.hpp -- the deterministic scheduler, and what
// every test of an actor needs besides.
#pragma once

#include "actors/interfaces.hpp"

#include <caf/test/dsl.hpp>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace reeve::test {

/// The answer to a request, filled in once it comes.
template <class T>
struct reply {
  std::optional<T> value;
  caf::error err;

  bool is_open() const {
    return !value && !err;
  }
};

template <class T>
using reply_ptr = std::shared_ptr<reply<T>>;

/// Ends everything it was told about before the scheduler goes: the base's
/// destructor runs timers too, and a loop that re-arms itself never ends.
class actor_fixture : public test_coordinator_fixture<> {
public:
  ~actor_fixture() override;

  /// Handles all messages; fires no timer.
  void settle() {
    sched.run();
  }

  /// Lets virtual time pass, then handles all messages.
  void pass(caf::timespan duration) {
    advance_time(duration);
    sched.run();
  }

  /// Remembers an actor that is to end with the test.
  template <class Handle>
  Handle adopt(Handle x) {
    adopted_.push_back(caf::actor_cast<caf::actor>(x));
    return x;
  }

  /// True once the actor has ended.
  template <class Handle>
  bool is_dead(const Handle& x) {
    return deref<caf::monitorable_actor>(x).getf(
      caf::abstract_actor::is_terminated_flag);
  }

  template <class Handle>
  void kill(const Handle& x) {
    caf::anon_send_exit(x, caf::exit_reason::kill);
  }

  /// Sends a request without waiting for its answer.
  template <class T, class Handle, class... Ts>
  reply_ptr<T> ask(const Handle& to, Ts... xs) {
    auto result = std::make_shared<reply<T>>();
    auto store_error = [result](caf::error& err) {
      result->err = std::move(err);
    };
    auto client = [=](caf::event_based_actor* self) {
      auto pending = self->request(to, caf::infinite, xs...);
      if constexpr (std::is_same_v<T, caf::unit_t>)
        pending.then([result] { result->value = caf::unit; }, store_error);
      else
        pending.then([result](T& x) { result->value = std::move(x); },
                     store_error);
    };
    adopt(sys.spawn(client));
    return result;
  }

  /// What an actor says of itself; handles all messages.
  template <class Handle>
  actor_report status_of(const Handle& x) {
    auto answer = ask<actor_report>(x, status_atom_v);
    settle();
    CAF_REQUIRE(answer->value.has_value());
    return std::move(*answer->value);
  }

private:
  std::vector<caf::actor> adopted_;
};

/// A job with readable defaults; `seq` also makes the id.
job make_job(int64_t seq, job_status status = job_status::pending);

/// `make_job` as a claim returns it: PROCESSING, in its first run.
job make_claimed(int64_t seq, uint32_t attempts = 1);

/// Runs for a slot.
run_bundle_ptr bundle_of(std::vector<assignment> runs);

/// Texts and cards that have an id, and nothing else that matters.
scrap make_scrap(std::string id);
knowledge_card make_card(std::string id);

} // namespace reeve::test
