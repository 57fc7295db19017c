// actors/gateway/exchange.cpp -- answers, and which error is which status.
#include "actors/gateway/exchange.hpp"

#include "actors/gateway/connection_broker.hpp"
#include "actors/gateway/fields.hpp"
#include "net/problem.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace reeve {

namespace {

struct failure {
  int status;
  std::string_view code;
};

failure classify(const caf::error& err) {
  if (err.category() == caf::type_id_v<ec>) {
    switch (static_cast<ec>(err.code())) {
      case ec::store_unavailable:
        return {503, "store_unavailable"};
      case ec::outcome_unknown:
        return {503, "outcome_unknown"};
      case ec::invalid_argument:
        return {400, "invalid_argument"};
      case ec::not_found:
        return {404, "not_found"};
      case ec::conflict:
      case ec::lease_lost:
        return {409, "conflict"};
      case ec::key_reused:
        return {422, "key_reused"};
      case ec::insufficient_funds:
        return {402, "insufficient_funds"};
      case ec::provider_unavailable:
        return {503, "provider_unavailable"};
      case ec::shutting_down:
        return {503, "shutting_down"};
      case ec::restart_limit:
      case ec::cannot_listen:
        return {500, "internal_error"};
    }
  }
  if (err == caf::sec::request_timeout || err == caf::sec::broken_promise
      || err == caf::sec::request_receiver_down)
    return {503, "outcome_unknown"};
  return {500, "internal_error"};
}

// When it is known how long the failure lasts; at least a second.
std::optional<std::chrono::seconds> retry_after(const caf::error& err) {
  if (!err.context().match_elements<std::string, caf::timespan>())
    return std::nullopt;
  auto delay = std::chrono::ceil<std::chrono::seconds>(
    err.context().get_as<caf::timespan>(1));
  return std::max(delay, std::chrono::seconds{1});
}

// Only texts of ours are shown, never internals.
std::string detail_of(const caf::error& err, const failure& what) {
  if (what.code == "outcome_unknown")
    return "Whether the request took effect is not known. Repeat it with the "
           "same Idempotency-Key to be sure";
  if (what.code == "store_unavailable")
    return "The database cannot be reached; nothing was written";
  if (what.code == "shutting_down")
    return "The node is shutting down and takes no new work";
  if (what.code == "not_found")
    return "There is nothing with this id";
  if (what.status == 500)
    return "Something went wrong inside the node; its log says more";
  if (err.context().match_elements<std::string>()
      || err.context().match_elements<std::string, caf::timespan>())
    return err.context().get_as<std::string>(0);
  return std::string{what.code};
}

} // namespace

exchange::exchange(connection_actor::broker_pointer self,
                   connection_state* connection, supervisor_actor supervisor,
                   std::shared_ptr<const gateway_context> context,
                   net::http_request request)
  : self_(self),
    connection_(connection),
    supervisor_(std::move(supervisor)),
    context_(std::move(context)),
    request_(std::move(request)) {
  // nop
}

const std::string& exchange::parameter(std::string_view name) const {
  return parameters_.find(name)->second;
}

std::optional<std::string> exchange::query(std::string_view name) const {
  for (const auto& [key, value] : request_.query)
    if (key == name)
      return value;
  return {};
}

void exchange::allow_query(
  std::initializer_list<std::string_view> names) const {
  for (const auto& [key, value] : request_.query) {
    if (std::find(names.begin(), names.end(), key) != names.end())
      continue;
    std::string list;
    for (auto name : names)
      list += (list.empty() ? "" : ", ") + std::string{name};
    throw bad_request("Unknown query parameter '" + key + "'; allowed are "
                      + (list.empty() ? "none" : list));
  }
}

void exchange::respond(net::http_response response) {
  if (connection_ != nullptr)
    connection_->respond(std::move(response));
}

void exchange::respond(int status, const ordered_json& body) {
  respond(json_response(status, body));
}

void exchange::fail(const caf::error& err) {
  auto what = classify(err);
  if (err == ec::provider_unavailable) {
    auto response = net::problem(what.status, what.code, detail_of(err, what));
    if (auto delay = retry_after(err))
      response.headers.emplace_back("Retry-After",
                                    std::to_string(delay->count()));
    return respond(std::move(response));
  }
  fail(what.status, what.code, detail_of(err, what));
}

void exchange::fail(int status, std::string_view code, std::string detail,
                    const ordered_json& members) {
  auto response = net::problem(status, code, std::move(detail));
  if (!members.empty()) {
    auto body = ordered_json::parse(response.body);
    body.update(members);
    response.body = dump(body);
  }
  if (status == 503)
    response.headers.emplace_back("Retry-After", "1");
  respond(std::move(response));
}

void exchange::guard(const std::function<void()>& part) {
  try {
    part();
  } catch (const bad_request& err) {
    fail(err.status(), err.code(), err.what());
  }
}

question_ptr exchange::expect_answer(std::function<void(caf::error&)> give_up) {
  return questions::of(self_, context_->alarm)
    ->add(context_->http.answer_timeout, std::move(give_up));
}

void exchange::begin_stream(const net::http_response& head) {
  if (connection_ != nullptr)
    connection_->begin_stream(head);
}

void exchange::stream(std::string_view bytes) {
  if (connection_ != nullptr)
    connection_->stream(bytes);
}

void exchange::end_stream() {
  if (connection_ != nullptr)
    connection_->end_stream();
}

void exchange::after(caf::timespan delay, std::function<void(exchange&)> f) {
  auto me = weak_from_this();
  run_later(self_, context_->alarm, delay, [me, f = std::move(f)] {
    if (auto x = me.lock(); x != nullptr && x->is_open())
      x->guard([&] { f(*x); });
  });
}

void exchange::watch(watch_filter filter,
                     std::function<void(watch_started&)> started,
                     std::function<void(const job_event&)> f) {
  on_event_ = std::move(f);
  ask<watch_started>(
    [started = std::move(started), self = self_](exchange&, watch_started& x) {
      if (x.hub)
        self->monitor(x.hub);
      started(x);
    },
    watch_atom_v, std::move(filter),
    caf::actor_cast<watcher_actor>(caf::strong_actor_ptr{self_->ctrl()}));
}

} // namespace reeve
