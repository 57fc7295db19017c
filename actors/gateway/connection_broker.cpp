// actors/gateway/connection_broker.cpp -- one client's bytes, requests, limits.
#include "actors/gateway/connection_broker.hpp"

#include "actors/gateway/access.hpp"
#include "actors/gateway/routes.hpp"
#include "config/log.hpp"

#include <algorithm>
#include <utility>

namespace reeve {

namespace {

using namespace std::chrono_literals;

/// Small: an idle client costs this buffer.
constexpr size_t read_chunk = 4'096;

/// How long a closed connection may take to take its last bytes.
constexpr auto close_grace = 5s;

/// How long a refused client may go on sending before it is cut off.
constexpr auto linger = 1s;

net::connection_limits limits_of(const http_options& x) {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  net::connection_limits result;
  result.header_bytes = x.max_header_bytes;
  result.body_bytes = x.max_body_bytes;
  result.request_timeout = duration_cast<milliseconds>(x.request_timeout);
  result.idle_timeout = duration_cast<milliseconds>(x.idle_timeout);
  return result;
}

} // namespace

connection_state::connection_state(
  connection_actor::broker_pointer self, caf::io::connection_handle client,
  supervisor_actor supervisor, caf::actor_addr gateway,
  std::shared_ptr<const gateway_context> context)
  : self_(self),
    client_(client),
    supervisor_(std::move(supervisor)),
    gateway_(std::move(gateway)),
    context_(std::move(context)),
    http_(limits_of(context_->http), self->clock().now()) {
  context_->metrics->connections(1);
}

connection_state::~connection_state() {
  context_->metrics->connections(-1);
  if (current_)
    current_->close();
}

connection_actor::behavior_type connection_state::make_behavior() {
  self_->configure_read(client_, caf::io::receive_policy::at_most(read_chunk));
  self_->ack_writes(client_, true);
  self_->monitor(gateway_);
  // The gateway's end is the node's; the hub's end is that of a stream.
  self_->set_down_handler([this](const caf::down_msg&) { drain(); });
  arm_deadline();
  return {
    [this](const job_event& x) {
      if (current_)
        current_->on_event(x);
    },
    [this](const caf::io::new_data_msg& x) { receive(x); },
    [this](const caf::io::connection_closed_msg&) { self_->quit(); },
    [this](const caf::io::data_transferred_msg& x) { on_sent(x); },
  };
}

void connection_state::receive(const caf::io::new_data_msg& x) {
  if (closing_)
    return;
  std::string_view bytes{reinterpret_cast<const char*>(x.buf.data()),
                         x.buf.size()};
  http_.receive(bytes, self_->clock().now());
  pump();
}

void connection_state::pump() {
  if (std::exchange(pumping_, true))
    return;
  // A client that does not read its answers gets no further ones.
  while (!current_ && !closing_ && unsent_ <= context_->http.max_unsent_bytes) {
    auto request = http_.next_request(self_->clock().now());
    if (!request)
      break;
    start(std::move(*request));
    send_output();
  }
  pumping_ = false;
  send_output();
  update_reading();
  arm_deadline();
}

void connection_state::start(net::http_request request) {
  request_started_ = self_->clock().now();
  if (draining_)
    http_.close_after_response();
  current_ = std::make_shared<exchange>(self_, this, supervisor_, context_,
                                        std::move(request));
  // Handlers may answer at once, which lets go of `current_`.
  auto alive = current_;
  alive->guard([&] { admit(*alive, dispatch); });
}

void connection_state::respond(net::http_response response) {
  if (!current_)
    return;
  add_cors(*current_, response);
  count_response(response.status);
  std::exchange(current_, nullptr)->close();
  http_.respond(response, self_->clock().now());
  pump();
}

void connection_state::begin_stream(const net::http_response& head) {
  auto response = head;
  add_cors(*current_, response);
  count_response(response.status);
  streaming_ = true;
  http_.begin_stream(response);
  send_output();
}

void connection_state::stream(std::string_view bytes) {
  // What it lags behind counts, not how large the next event is.
  if (unsent_ > context_->http.max_unsent_bytes) {
    log::warn("http.slow-reader", {{"unsent", unsent_}});
    self_->quit();
    return;
  }
  http_.stream(bytes);
  send_output();
}

void connection_state::end_stream() {
  if (!current_)
    return;
  std::exchange(current_, nullptr)->close();
  http_.end_stream();
  send_output();
}

void connection_state::send_output() {
  if (closing_)
    return;
  auto bytes = http_.take_output();
  if (!bytes.empty()) {
    self_->write(client_, bytes.size(), bytes.data());
    self_->flush(client_);
    unsent_ += bytes.size();
    watch_writes();
  }
  if (http_.finished()) {
    closing_ = true;
    if (unsent_ == 0)
      finish();
  }
}

void connection_state::on_sent(const caf::io::data_transferred_msg& x) {
  unsent_ = x.remaining;
  sent_ += x.written;
  if (!closing_)
    pump();
  else if (unsent_ == 0)
    finish();
}

// The last byte is on its way.
void connection_state::finish() {
  // Closing the socket lets go of what may be the last reference to this.
  caf::strong_actor_ptr alive{self_->ctrl()};
  if (!http_.refused())
    self_->close(client_);
  // What a refused client still sends is read and dropped for a while.
  run_later(self_, context_->alarm, http_.refused() ? linger : close_grace,
            [this] { self_->quit(); });
}

// Ends a client that takes nothing for as long as it may rest.
void connection_state::watch_writes() {
  if (unsent_ == 0 || std::exchange(watching_, true))
    return;
  auto look = [this, before = sent_] {
    watching_ = false;
    if (unsent_ > 0 && sent_ == before)
      self_->quit();
    else
      watch_writes();
  };
  run_later(self_, context_->alarm, context_->http.idle_timeout,
            std::move(look));
}

void connection_state::update_reading() {
  auto wanted =
    http_.wants_input() && unsent_ <= context_->http.max_unsent_bytes;
  if (closing_ || reading_ == wanted)
    return;
  reading_ = !reading_;
  if (reading_)
    self_->trigger(client_);
  else
    self_->halt(client_);
}

void connection_state::arm_deadline() {
  auto deadline = http_.deadline();
  if (closing_ || !deadline
      || (tick_armed_for_ && *tick_armed_for_ <= *deadline))
    return;
  tick_armed_for_ = deadline;
  auto wait = std::max(*deadline - self_->clock().now(),
                       caf::actor_clock::duration_type{0});
  run_later(self_, context_->alarm, wait, [this] { on_tick(); });
}

void connection_state::on_tick() {
  tick_armed_for_.reset();
  if (closing_)
    return;
  auto now = self_->clock().now();
  if (auto deadline = http_.deadline(); deadline && *deadline <= now)
    http_.on_deadline(now);
  pump();
}

void connection_state::drain() {
  draining_ = true;
  http_.close_after_response();
  if (streaming_) {
    stream("retry: 1000\n\n");
    end_stream();
  } else if (current_) {
    current_->drain();
  } else if (!http_.busy()) {
    closing_ = true;
    self_->quit();
  }
}

void connection_state::count_response(int status) {
  context_->metrics->responded(current_->route(), status,
                               self_->clock().now() - request_started_);
}

} // namespace reeve
