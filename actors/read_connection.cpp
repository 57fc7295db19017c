// actors/read_connection.cpp -- reconnects of the actors that read.
#include "actors/read_connection.hpp"

#include "config/log.hpp"

namespace reeve {

namespace {

using namespace std::chrono_literals;

/// A dead server is asked this often, whoever waits.
constexpr auto retry_interval = 250ms;

} // namespace

read_connection::read_connection(store_opener connect)
  : connect_(std::move(connect)) {
  // nop
}

void read_connection::describe(actor_report& x) const {
  // Who was never asked anything has nothing to miss.
  x.state = away_ && !last_error_.empty() ? "away" : "idle";
  x.counts = {{"reads", reads_}};
  x.last_error = last_error_;
}

void read_connection::lose(const char* why) {
  away_ = true;
  last_error_ = why;
  next_try_ = {};
}

bool read_connection::reconnect_if_away(time_point now) {
  if (!away_)
    return true;
  if (now < next_try_)
    return false;
  try {
    if (store_) {
      store_->reconnect();
      store_->ping();
    } else {
      store_ = connect_();
    }
  } catch (const store_unavailable& err) {
    if (last_error_ != err.what())
      log::warn("query.connection-lost", {{"error", err.what()}});
    last_error_ = err.what();
    next_try_ = now + retry_interval;
    return false;
  }
  away_ = false;
  return true;
}

} // namespace reeve
