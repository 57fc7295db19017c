// actors/gateway/gateway.cpp -- accepts clients; each gets a broker of its own.
#include "actors/gateway/gateway.hpp"

#include "actors/gateway/connection_broker.hpp"
#include "actors/gateway/rfc3339.hpp"
#include "config/log.hpp"

#include <utility>

namespace reeve {

gateway_state::gateway_state(gateway_broker_actor::broker_pointer self,
                             supervisor_actor supervisor,
                             std::shared_ptr<const gateway_context> context)
  : self_(self),
    supervisor_(std::move(supervisor)),
    context_(std::move(context)) {
  // nop
}

gateway_broker_actor::behavior_type gateway_state::make_behavior() {
  listen();
  self_->monitor(context_->relay);
  self_->set_down_handler([this](const caf::down_msg& x) {
    if (x.source == context_->relay)
      // Without it no job comes in any more.
      self_->quit(caf::make_error(caf::sec::runtime_error, "the relay ended"));
    else
      --clients_;
  });
  sample();
  return {
    [this](status_atom) { return status(); },
    [this](caf::get_atom) -> caf::result<uint16_t> {
      // Its death is the supervisor's to handle.
      if (failure_)
        self_->quit(failure_);
      return failure_ ? caf::result<uint16_t>{failure_} : port_;
    },
    [this](drain_atom) { self_->quit(caf::exit_reason::user_shutdown); },
    [this](const caf::io::new_connection_msg& x) { accept(x.handle); },
    [this](const caf::io::acceptor_closed_msg&) {
      log::error("gateway.socket-closed");
      self_->quit(caf::make_error(ec::cannot_listen));
    },
  };
}

void gateway_state::listen() {
  const auto& http = context_->http;
  auto bound = context_->bound_port->load();
  auto port = bound != 0 ? bound : http.port;
  auto opened = self_->add_tcp_doorman(port, http.address.c_str(), true);
  if (opened) {
    port_ = opened->second;
    context_->bound_port->store(port_);
    return;
  }
  failure_ = caf::make_error(ec::cannot_listen,
                             "cannot listen on " + http.address + ':'
                               + std::to_string(http.port) + ": "
                               + to_string(opened.error()));
}

// What the database does not answer is a gap in the charts.
void gateway_state::sample() {
  auto again = [this](caf::timespan delay) {
    run_later(self_, context_->alarm, delay, [this] { sample(); });
  };
  self_->request(supervisor_, context_->http.answer_timeout, stats_atom_v)
    .then(
      [this, again](store_stats& x) {
        context_->history->add(wall_clock(), std::move(x));
        again(stats_history::spacing);
      },
      [again](const caf::error&) { again(std::chrono::seconds{1}); });
}

void gateway_state::accept(caf::io::connection_handle client) {
  ++accepted_;
  if (clients_ >= context_->http.max_connections) {
    static constexpr std::string_view full =
      "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n"
      "Content-Length: 0\r\nConnection: close\r\n\r\n";
    self_->write(client, full.size(), full.data());
    self_->flush(client);
    self_->close(client);
    return;
  }
  ++clients_;
  auto scribe = self_->take(client);
  caf::actor_config cfg{self_->context()};
  auto broker =
    self_->system().spawn_class<connection_impl, caf::no_spawn_options>(
      cfg, client, supervisor_, caf::actor_cast<caf::actor_addr>(self_),
      context_);
  auto* raw = static_cast<connection_impl*>(
    caf::actor_cast<caf::abstract_actor*>(broker));
  raw->move_scribe(std::move(scribe));
  self_->monitor(broker);
}

actor_report gateway_state::status() const {
  actor_report result;
  result.state = failure_ ? "failed" : "listening";
  result.mailbox = self_->mailbox().size();
  result.counts = {{"accepted", accepted_}, {"connected", clients_}};
  if (failure_)
    result.last_error = to_string(failure_);
  return result;
}

gateway_actor spawn_gateway(caf::actor_system& sys, supervisor_actor supervisor,
                            std::shared_ptr<const gateway_context> context) {
  auto own = std::make_shared<gateway_context>(*context);
  own->alarm = sys.spawn<alarm_impl, caf::hidden>();
  own->relay = spawn_relay(sys, supervisor);
  own->metrics = std::make_shared<http_metrics>(sys);
  caf::actor_config cfg{&sys.middleman().backend()};
  return sys.spawn_class<gateway_impl, caf::no_spawn_options>(
    cfg, std::move(supervisor), std::move(own));
}

} // namespace reeve
