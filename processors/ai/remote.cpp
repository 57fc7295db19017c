// processors/ai/remote.cpp -- what all providers at the other end of a network
// have in common.
#include "processors/ai/remote.hpp"

namespace reeve {

net::client_request request_to(const remote_options& options,
                               std::string_view path,
                               const nlohmann::json& body,
                               const trace_context& trace) {
  net::client_request result;
  result.url = options.url;
  while (result.url.ends_with('/'))
    result.url.pop_back();
  result.url += path;
  result.headers = {{"Content-Type", "application/json"}};
  add_trace(result, trace);
  result.body = net::dump_json(body);
  result.connect_timeout = options.connect_timeout;
  result.idle_timeout = options.idle_timeout;
  result.total_timeout = options.total_timeout;
  result.max_response_bytes = options.max_response_bytes;
  return result;
}

std::string model_name(std::string_view provider, std::string_view model) {
  return std::string{"model "}.append(provider).append("/").append(model);
}

const nlohmann::json& member(const nlohmann::json& object, const char* name) {
  static const nlohmann::json nothing;
  if (!object.is_object())
    return nothing;
  auto i = object.find(name);
  return i == object.end() ? nothing : *i;
}

std::string text_member(const nlohmann::json& object, const char* name) {
  const auto& x = member(object, name);
  return x.is_string() ? x.get<std::string>() : std::string{};
}

uint64_t count_member(const nlohmann::json& object, const char* name) {
  // Stores keep sums of these in 64 bits with a sign.
  constexpr uint64_t most = 1'000'000'000'000;
  const auto& x = member(object, name);
  if (!x.is_number_unsigned())
    return 0;
  auto result = x.get<uint64_t>();
  return result > most ? 0 : result;
}

nlohmann::json json_or_null(std::string_view text) {
  try {
    return net::parse_json(text, {.depth = 32, .elements = 20'000});
  } catch (const net::json_error&) {
    return nullptr;
  }
}

} // namespace reeve
