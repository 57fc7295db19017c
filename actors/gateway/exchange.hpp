// actors/gateway/exchange.hpp -- one request and the answer it gets.
#pragma once

#include "actors/gateway/context.hpp"
#include "actors/gateway/json.hpp"
#include "actors/gateway/questions.hpp"
#include "actors/interfaces.hpp"
#include "net/http.hpp"
#include "net/router.hpp"

#include <caf/io/all.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace reeve {

/// A CONNECTION: one client of the gateway.
using connection_actor =
  watcher_actor::extend<caf::result<void>(caf::io::new_data_msg),
                        caf::result<void>(caf::io::connection_closed_msg),
                        caf::result<void>(caf::io::data_transferred_msg)>;

class connection_state;

/// Who asks.
struct caller {
  /// Sees and does everything.
  bool is_operator = false;
  /// For a client: the only user whose things it sees and makes.
  std::optional<std::string> user_id;

  bool may_see(const std::optional<std::string>& owner) const {
    return is_operator || (owner && owner == user_id);
  }
};

/// Lives until its request is answered, also when the client is gone by then:
/// a handler answers it exactly once and may wait in between.
class exchange : public std::enable_shared_from_this<exchange> {
public:
  exchange(connection_actor::broker_pointer self, connection_state* connection,
           supervisor_actor supervisor,
           std::shared_ptr<const gateway_context> context,
           net::http_request request);

  // -- the request ------------------------------------------------------------

  const net::http_request& request() const noexcept {
    return request_;
  }

  const gateway_context& context() const noexcept {
    return *context_;
  }

  caf::actor_system& system() {
    return self_->system();
  }

  caf::actor_clock::time_point now() const {
    return self_->clock().now();
  }

  /// What stood at `{name}` in the route's pattern.
  const std::string& parameter(std::string_view name) const;

  /// The first query parameter of that name.
  std::optional<std::string> query(std::string_view name) const;

  /// Throws `bad_request` for a query parameter that is not in the list.
  void allow_query(std::initializer_list<std::string_view> names) const;

  const caller& who() const noexcept {
    return who_;
  }

  void set_caller(caller x) {
    who_ = std::move(x);
  }

  void set_route(const net::route_name* route, net::path_parameters x) {
    route_ = route;
    parameters_ = std::move(x);
  }

  /// Null: no route serves it.
  const net::route_name* route() const noexcept {
    return route_;
  }

  // -- the answer -------------------------------------------------------------

  void respond(net::http_response response);
  void respond(int status, const ordered_json& body);
  /// One function maps errors of actors to statuses.
  void fail(const caf::error& err);
  /// `members` are added to the problem document (RFC 9457, section 3.2).
  void fail(int status, std::string_view code, std::string detail,
            const ordered_json& members = ordered_json::object());
  /// Runs a part of a handler; a `bad_request` from it becomes the answer.
  void guard(const std::function<void()>& part);

  bool is_open() const noexcept {
    return connection_ != nullptr;
  }

  /// The client is gone or the answer given: later calls do nothing.
  void close() noexcept {
    connection_ = nullptr;
    on_event_ = nullptr;
    on_drain_ = nullptr;
  }

  // -- streams ----------------------------------------------------------------

  void begin_stream(const net::http_response& head);
  void stream(std::string_view bytes);
  void end_stream();

  // -- talking to the node ----------------------------------------------------

  /// Asks the supervisor; `f` gets the result, an error becomes the answer.
  template <class Result, class F, class... Ts>
  void ask(F f, Ts... xs) {
    ask_or<Result>(
      std::move(f), [](exchange& x, caf::error& err) { x.fail(err); },
      std::move(xs)...);
  }

  /// As `ask`, with a handler for errors.
  template <class Result, class F, class G, class... Ts>
  void ask_or(F f, G on_error, Ts... xs) {
    auto me = shared_from_this();
    auto open =
      expect_answer([me, on_error = std::move(on_error)](caf::error& err) {
        if (me->is_open())
          me->guard([&] { on_error(*me, err); });
      });
    auto failed = [open](caf::error& err) { open->fail(err); };
    // The deadline is the question's: see there.
    auto request =
      self_->request(whom_to_ask(xs...), caf::infinite, std::move(xs)...);
    if constexpr (std::is_void_v<Result>)
      request.then(
        [me, open, f = std::move(f)] {
          if (open->end() && me->is_open())
            me->guard([&] { f(*me); });
        },
        std::move(failed));
    else
      request.then(
        [me, open, f = std::move(f)](Result& result) {
          if (open->end() && me->is_open())
            me->guard([&] { f(*me, result); });
        },
        std::move(failed));
  }

  /// Calls `f` unless the request is answered by then.
  void after(caf::timespan delay, std::function<void(exchange&)> f);

  /// Follows jobs: `f` gets every event from now on.
  void watch(watch_filter filter, std::function<void(watch_started&)> started,
             std::function<void(const job_event&)> f);

  void on_event(const job_event& x) {
    // A copy: the event may end the exchange, which lets go of the function.
    if (auto f = on_event_)
      f(x);
  }

  /// What to answer when the node stops while this waits for something.
  void when_draining(std::function<void()> f) {
    on_drain_ = std::move(f);
  }

  void drain() {
    if (auto f = on_drain_)
      f();
  }

private:
  template <class... Ts>
  const supervisor_actor& whom_to_ask(const Ts&...) const {
    return supervisor_;
  }

  // New jobs may come from many connections at once.
  const relay_actor& whom_to_ask(const enqueue_write&) const {
    return context_->relay;
  }

  question_ptr expect_answer(std::function<void(caf::error&)> give_up);

  connection_actor::broker_pointer self_;
  connection_state* connection_;
  supervisor_actor supervisor_;
  std::shared_ptr<const gateway_context> context_;
  net::http_request request_;
  const net::route_name* route_ = nullptr;
  net::path_parameters parameters_;
  caller who_;
  std::function<void(const job_event&)> on_event_;
  std::function<void()> on_drain_;
};

using handler = void (*)(exchange&);

} // namespace reeve
