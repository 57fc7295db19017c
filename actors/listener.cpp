// actors/listener.cpp -- a notification is a hint: after each connect the node
// looks for itself, and the scheduler's poll goes on besides.
#include "actors/listener.hpp"

#include "config/log.hpp"

#include <utility>

namespace reeve {

namespace {

using namespace std::chrono_literals;

/// A new connection may be as deaf as the one before it: whoever shares it is
/// found out by then.
constexpr auto probation = 11s;
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
      result.state = source_ && !doubtful_ ? "listening" : "polling";
      result.mailbox = self_->mailbox().size();
      result.counts = {{"announcements", heard_}};
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
      connected_at_ = self_->clock().now();
      // What was announced while nobody listened.
      self_->send(target_, wake_atom_v);
    }
    if (source_->wait(longest_wait)) {
      ++heard_;
      self_->send(target_, wake_atom_v);
      doubtful_ = false;
    }
    if (self_->clock().now() >= connected_at_ + probation)
      doubtful_ = false;
    if (!doubtful_)
      last_error_.clear();
    self_->send(self_, caf::tick_atom_v);
  } catch (const store_unavailable& err) {
    lose_connection(err.what());
  }
}

void listener_state::lose_connection(const char* what) {
  if (last_error_ != what)
    log::warn("listener.connection-lost", {{"error", what}});
  last_error_ = what;
  doubtful_ = true;
  source_.reset();
  self_->delayed_send(self_, reconnect_interval, caf::tick_atom_v);
}

} // namespace reeve
