// actors/error.cpp -- names of errors and states that travel between actors.
#include "actors/interfaces.hpp"

#include <utility>

namespace reeve {

namespace {

constexpr std::pair<ec, const char*> names[] = {
  {ec::store_unavailable, "store_unavailable"},
  {ec::outcome_unknown, "outcome_unknown"},
  {ec::invalid_argument, "invalid_argument"},
  {ec::not_found, "not_found"},
  {ec::conflict, "conflict"},
  {ec::lease_lost, "lease_lost"},
  {ec::key_reused, "key_reused"},
  {ec::shutting_down, "shutting_down"},
  {ec::restart_limit, "restart_limit"},
  {ec::cannot_listen, "cannot_listen"},
  {ec::insufficient_funds, "insufficient_funds"},
  {ec::provider_unavailable, "provider_unavailable"},
};

ec code_of(refusal_code x) {
  switch (x) {
    case refusal_code::invalid_argument:
      return ec::invalid_argument;
    case refusal_code::not_found:
      return ec::not_found;
    case refusal_code::conflict:
      return ec::conflict;
    case refusal_code::lease_lost:
      return ec::lease_lost;
    case refusal_code::key_reused:
      return ec::key_reused;
    case refusal_code::insufficient_funds:
      return ec::insufficient_funds;
    case refusal_code::blocked:
      return ec::store_unavailable;
  }
  return ec::invalid_argument;
}

} // namespace

std::string to_string(ec x) {
  for (const auto& [code, name] : names)
    if (code == x)
      return name;
  return "???";
}

bool from_string(caf::string_view in, ec& out) {
  for (const auto& [code, name] : names)
    if (in == name) {
      out = code;
      return true;
    }
  return false;
}

bool from_integer(uint8_t in, ec& out) {
  for (const auto& [code, name] : names)
    if (in == static_cast<uint8_t>(code)) {
      out = code;
      return true;
    }
  return false;
}

caf::error make_error(const refusal& x) {
  return caf::make_error(code_of(x.code), x.message);
}

std::string to_string(lane_state x) {
  switch (x) {
    case lane_state::open:
      return "open";
    case lane_state::parked:
      return "parked";
    case lane_state::broken:
      return "broken";
    case lane_state::probing:
      return "probing";
    case lane_state::paused:
      return "paused";
  }
  return "???";
}

} // namespace reeve
