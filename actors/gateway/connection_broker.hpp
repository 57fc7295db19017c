// actors/gateway/connection_broker.hpp -- one client: moves bytes between its
// socket and `net::connection`, and requests to their handlers.
#pragma once

#include "actors/gateway/context.hpp"
#include "actors/gateway/exchange.hpp"
#include "actors/interfaces.hpp"
#include "net/connection.hpp"

#include <caf/io/all.hpp>

#include <memory>
#include <optional>

namespace reeve {

class connection_state {
public:
  static constexpr const char* name = "reeve.connection";

  connection_state(connection_actor::broker_pointer self,
                   caf::io::connection_handle client,
                   supervisor_actor supervisor, caf::actor_addr gateway,
                   std::shared_ptr<const gateway_context> context);

  ~connection_state();

  connection_actor::behavior_type make_behavior();

  // -- for the exchange under way ---------------------------------------------

  void respond(net::http_response response);
  void begin_stream(const net::http_response& head);
  void stream(std::string_view bytes);
  void end_stream();

private:
  void receive(const caf::io::new_data_msg& x);
  /// Hands requests to their handlers while there are complete ones.
  void pump();
  void start(net::http_request request);
  void send_output();
  void on_sent(const caf::io::data_transferred_msg& x);
  void finish();
  void watch_writes();
  void update_reading();
  void arm_deadline();
  void on_tick();
  void drain();
  void count_response(int status);

  connection_actor::broker_pointer self_;
  caf::io::connection_handle client_;
  supervisor_actor supervisor_;
  caf::actor_addr gateway_;
  std::shared_ptr<const gateway_context> context_;
  net::connection http_;
  std::shared_ptr<exchange> current_;
  caf::actor_clock::time_point request_started_;
  bool pumping_ = false;
  bool reading_ = true;
  bool closing_ = false;
  bool draining_ = false;
  /// Bytes handed to the socket and not confirmed.
  uint64_t unsent_ = 0;
  /// Bytes confirmed in all.
  uint64_t sent_ = 0;
  bool watching_ = false;
  bool streaming_ = false;
  std::optional<caf::actor_clock::time_point> tick_armed_for_;
};

using connection_impl =
  connection_actor::stateful_broker_base<connection_state>;

} // namespace reeve
