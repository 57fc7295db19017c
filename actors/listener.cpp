// actors/listener.cpp -- a notification is a hint: after each connect the node
// looks for itself, and the scheduler's poll goes on besides.
#include "actors/listener.hpp"

#include "config/log.hpp"

#include <utility>

namespace reeve {

namespace {

using namespace std::chrono_literals;

/// Short enough to answer `status` in time.
constexpr auto longest_wait = 200ms;
constexpr auto reconnect_interval = 1s;

} // namespace

listener_state::listener_state(listener_actor::pointer self,
                               source_factory connect, wakeable_actor target)
  : self_(self), connect_(std::move(connect)), target_(std::move(target)) {
  // nop
}

listener_actor::behavior_type listener_state::make_behavior() {
  self_->send(self_, caf::tick_atom_v);
  return {
    [this](status_atom) {
      actor_report result;
      result.state = source_ ? "listening" : "away";
      result.mailbox = self_->mailbox().size();
      result.messages = heard_;
      result.last_error = last_error_;
      return result;
    },
    [this](caf::tick_atom) { listen(); },
  };
}

void listener_state::listen() {
  try {
    if (!source_) {
      source_ = connect_();
      last_error_.clear();
      // What was announced while nobody listened.
      self_->send(target_, wake_atom_v);
    }
    if (source_->wait(longest_wait)) {
      ++heard_;
      self_->send(target_, wake_atom_v);
    }
    self_->send(self_, caf::tick_atom_v);
  } catch (const store_unavailable& err) {
    lose_connection(err.what());
  }
}

void listener_state::lose_connection(const char* what) {
  if (last_error_ != what)
    log::warn("listener.connection-lost", {{"error", what}});
  last_error_ = what;
  source_.reset();
  self_->delayed_send(self_, reconnect_interval, caf::tick_atom_v);
}

} // namespace reeve
