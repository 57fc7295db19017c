// actors/side_connection.cpp -- reconnects of those beside the writer.
#include "actors/side_connection.hpp"

#include "config/log.hpp"

namespace reeve {

namespace {

using namespace std::chrono_literals;

/// A dead server is asked this often, whoever waits.
constexpr auto retry_interval = 250ms;

} // namespace

side_connection::side_connection(store_opener connect)
  : connect_(std::move(connect)) {
  // nop
}

void side_connection::describe(actor_report& x, std::string_view uses) const {
  // Who was never asked anything has nothing to miss.
  x.state = away_ && !last_error_.empty() ? "away" : "idle";
  x.counts = {{uses, uses_}};
  x.last_error = last_error_;
}

void side_connection::lose(const char* why) {
  away_ = true;
  last_error_ = why;
  next_try_ = {};
}

bool side_connection::reconnect_if_away(time_point now) {
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
      log::warn("db.side-connection-lost", {{"error", err.what()}});
    last_error_ = err.what();
    next_try_ = now + retry_interval;
    return false;
  }
  away_ = false;
  return true;
}

} // namespace reeve
