// processors/ai/anthropic.cpp -- texts by Anthropic's Messages API.
#include "processors/ai/anthropic.hpp"

#include "persistence/text.hpp"
#include "processors/ai/anthropic_stream.hpp"
#include "processors/ai/http_failure.hpp"
#include "processors/ai/rate_fields.hpp"
#include "processors/text/plain_text.hpp"

#include <algorithm>

namespace reeve {

namespace {

nlohmann::json body_of(const text_request& request,
                       const anthropic_options& options) {
  nlohmann::json message{{"role", "user"}, {"content", request.prompt}};
  nlohmann::json result{
    {"model", options.model},
    {"max_tokens", std::min(request.max_tokens, options.max_tokens)},
    {"stream", true},
    {"messages", nlohmann::json::array({std::move(message)})},
  };
  // An empty one is refused.
  if (!text::is_blank(request.system))
    result["system"] = request.system;
  return result;
}

// `secrets` must not be in a message.
provider_failure failure_of_status(
  const net::http_response& response, const std::string& name,
  std::initializer_list<std::string_view> secrets) {
  auto json = json_or_null(response.body);
  const auto& x = member(json, "error");
  anthropic_error err{text_member(x, "type"), text_member(x, "message"),
                      response.status};
  auto detail = safe_detail(err.message, secrets);
  auto by_status = failure_of(response, name, detail);
  auto by_type = failure_of(err, name, detail);
  if (!by_type && response.status == 404)
    by_type = paused("The " + name
                     + " is not known there; check the configured URL and "
                       "model");
  // A request that came through wrong is named as any other status, too.
  if (!by_type || by_type->kind == run_outcome::failed_permanently)
    return by_status;
  by_type->delay = by_status.delay;
  return *std::move(by_type);
}

} // namespace

anthropic::anthropic(anthropic_options options)
  : options_(std::move(options)),
    name_(model_name("anthropic", options_.model)) {
  // nop
}

lane_key anthropic::lane() const {
  return {"anthropic", options_.model};
}

provider_answer<std::string> anthropic::write(
  const text_request& request,
  const std::function<void(std::string_view piece)>& on_text,
  call_scope scope) {
  anthropic_stream stream{on_text};
  auto http = request_to(options_, "/v1/messages", body_of(request, options_),
                         scope.trace);
  http.headers.emplace_back("Accept", "text/event-stream");
  http.headers.emplace_back("anthropic-version", "2023-06-01");
  http.headers.emplace_back("x-api-key", options_.api_key);
  http.on_body = [&stream](std::string_view piece) {
    return stream.feed(piece);
  };
  auto got = net::send(http, std::move(scope.stop));
  provider_answer<std::string> result{
    std::string{}, stream.used(), {}, stream.model()};
  auto* response = std::get_if<net::http_response>(&got);
  if (response != nullptr)
    result.limits =
      anthropic_limits(*response, std::chrono::system_clock::now());
  auto secrets = {std::string_view{request.prompt},
                  std::string_view{request.system},
                  std::string_view{options_.api_key}};
  auto fail = [&result](provider_failure err) {
    result.result = std::move(err);
    return std::move(result);
  };
  if (response != nullptr && (response->status < 200 || response->status > 299))
    return fail(failure_of_status(*response, name_, secrets));
  if (auto& err = stream.error()) {
    auto known = failure_of(*err, name_, safe_detail(err->message, secrets));
    return fail(known ? *known : cut_off(name_, "by an error of its own"));
  }
  if (!stream.nonsense().empty())
    return fail(useless(name_, stream.nonsense()));
  // Whatever happened to the connection behind a whole answer is of no
  // interest.
  if (!stream.finished()) {
    if (auto* err = std::get_if<net::client_failure>(&got))
      return fail(failure_of(*err, name_));
    if (!is_event_stream(*response))
      return fail(useless(name_, "is no event stream"));
    return fail(cut_off(name_, "the stream has no end"));
  }
  auto& reason = stream.stop_reason();
  if (reason == "refusal")
    return fail({run_outcome::failed_permanently,
                 "The " + name_ + " refuses to write about this",
                 {},
                 lane_effect::none});
  if (reason == "max_tokens" || reason == "model_context_window_exceeded")
    return fail(useless(name_, "was cut at its longest (" + reason + ")"));
  if (reason != "end_turn" && reason != "stop_sequence")
    return fail(useless(name_, "ended for a reason that means nothing here"));
  if (text::is_blank(sanitized(stream.text())))
    return fail(useless(name_, "is empty"));
  result.result = stream.text();
  return result;
}

} // namespace reeve
