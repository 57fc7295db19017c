// actors/query_actor.hpp -- every read, so that reads never wait behind writes.
#pragma once

#include "actors/interfaces.hpp"

#include <caf/expected.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>

namespace reeve {

class query_actor_state {
public:
  static constexpr const char* name = "reeve.query";

  query_actor_state(query_actor::pointer self,
                    std::unique_ptr<job_store> store);

  query_actor::behavior_type make_behavior();

private:
  /// Runs one read; a connection that was lost meanwhile is made anew once.
  template <class F>
  auto read(F f) -> caf::expected<decltype(f(std::declval<job_store&>()))>;

  /// As `read`, for what may be missing.
  template <class F>
  auto find(F f) -> caf::expected<
    typename decltype(f(std::declval<job_store&>()))::value_type>;

  bool reconnect_if_away();

  query_actor::pointer self_;
  std::unique_ptr<job_store> store_;
  std::string last_error_;
  uint64_t reads_ = 0;
  bool away_ = false;
  /// While the database is away, reads fail at once until then.
  caf::actor_clock::time_point next_try_;
};

using query_actor_impl = query_actor::stateful_impl<query_actor_state>;

} // namespace reeve
