// actors/child_table.cpp -- restart intensity, as in OTP's supervisors.
#include "actors/child_table.hpp"

#include <caf/actor_addr.hpp>
#include <caf/actor_cast.hpp>

#include <algorithm>
#include <utility>

namespace reeve {

child& child_table::add(std::string name, child_kind kind,
                        std::function<caf::actor()> start) {
  auto& result = children_.emplace_back();
  result.name = std::move(name);
  result.kind = kind;
  result.start = std::move(start);
  return result;
}

child* child_table::find(std::string_view name) {
  auto is_it = [name](const child& x) { return x.name == name; };
  auto i = std::find_if(children_.begin(), children_.end(), is_it);
  return i != children_.end() ? &*i : nullptr;
}

child* child_table::find(const caf::actor_addr& address) {
  auto is_it = [&address](const child& x) {
    return x.handle && x.handle.address() == address;
  };
  auto i = std::find_if(children_.begin(), children_.end(), is_it);
  return i != children_.end() ? &*i : nullptr;
}

death_notice child_table::on_down(const caf::actor_addr& address,
                                  std::string reason, time_point now) {
  auto* who = find(address);
  if (who == nullptr)
    return {};
  who->handle = nullptr;
  who->last_error = std::move(reason);
  auto& deaths = who->recent_deaths;
  deaths.push_back(now);
  while (now - deaths.front() > budget_.window)
    deaths.pop_front();
  if (deaths.size() > budget_.deaths) {
    who->state = who->kind == child_kind::slot ? child_state::degraded
                                               : child_state::stopped;
    return {who, {}};
  }
  who->state = child_state::backing_off;
  return {who, budget_.first_backoff * (1u << (deaths.size() - 1))};
}

std::string_view to_string(child_state x) {
  switch (x) {
    case child_state::running:
      return "running";
    case child_state::backing_off:
      return "restarting";
    case child_state::degraded:
      return "degraded";
    case child_state::stopped:
      return "stopped";
  }
  return "stopped";
}

} // namespace reeve
