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

void child_table::on_started(child& x, caf::actor handle, time_point now) {
  x.handle = std::move(handle);
  x.meter = meter_of(x.handle);
  x.state = child_state::running;
  x.started_at = now;
}

void child_table::note_restart(child& x) {
  ++x.restarts;
  auto asked = std::exchange(x.asked, std::nullopt);
  x.history.push_back(
    {wall_clock(), asked.value_or(x.last_error), asked.has_value()});
  if (x.history.size() > most_restart_notes)
    x.history.pop_front();
}

void child_table::forgive(child& x, std::string why) {
  x.handle = nullptr;
  x.recent_deaths.clear();
  x.asked = std::move(why);
}

budget_left child_table::left_of(const child& x, time_point now) const {
  auto is_recent = [&](time_point died) {
    return now - died <= budget_.window;
  };
  auto deaths =
    static_cast<uint32_t>(std::ranges::count_if(x.recent_deaths, is_recent));
  return {budget_.deaths - std::min(deaths, budget_.deaths), budget_.deaths,
          budget_.window};
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
