// processors/ai/openai_compatible.cpp -- texts by a chat completions API.
#include "processors/ai/openai_compatible.hpp"

#include "persistence/text.hpp"
#include "processors/ai/completion_stream.hpp"
#include "processors/ai/http_failure.hpp"
#include "processors/ai/rate_fields.hpp"
#include "processors/text/plain_text.hpp"

#include <algorithm>

namespace reeve {

namespace {

nlohmann::json body_of(const text_request& request,
                       const openai_compatible_options& options) {
  auto messages = nlohmann::json::array();
  if (!text::is_blank(request.system))
    messages.push_back({{"role", "system"}, {"content", request.system}});
  messages.push_back({{"role", "user"}, {"content", request.prompt}});
  return {
    {"model", options.model},
    {"max_tokens", std::min(request.max_tokens, options.max_tokens)},
    {"stream", true},
    {"stream_options", {{"include_usage", true}}},
    {"messages", std::move(messages)},
  };
}

// Some servers have a number as the code, some a text.
std::string code_of(const nlohmann::json& err) {
  auto code = text_member(err, "code");
  return code.empty() ? text_member(err, "type") : code;
}

// `err` is the error object, of a response or of a stream.
provider_failure failure_of_error(
  const nlohmann::json& err, const net::http_response& response,
  const std::string& name, std::initializer_list<std::string_view> secrets) {
  auto code = code_of(err);
  auto detail = safe_detail(err.is_string() ? err.get<std::string>()
                                            : text_member(err, "message"),
                            secrets);
  auto more = " (" + status_text(response.status) + ")"
    + (detail.empty() ? "" : ": " + detail);
  auto has_type = [&err](std::string_view x) {
    return text_member(err, "code") == x || text_member(err, "type") == x;
  };
  if (has_type("insufficient_quota") || has_type("billing_hard_limit_reached")
      || has_type("billing_not_active"))
    return paused("The " + name + " wants to be paid" + more);
  if (response.status == 404 || has_type("model_not_found"))
    return paused("The " + name
                  + " is not known there; check the configured URL and model"
                  + more);
  return failure_of(response, name, detail);
}

// An error within a stream comes behind a status that says nothing.
int status_of_stream_error(const nlohmann::json& err) {
  auto given = count_member(err, "code");
  if (given >= 400 && given <= 599)
    return static_cast<int>(given);
  auto code = code_of(err);
  if (code == "rate_limit_exceeded" || code == "rate_limit_error"
      || code == "tokens" || code == "requests")
    return 429;
  if (code == "invalid_api_key" || code == "authentication_error")
    return 401;
  if (code == "invalid_request_error" || code == "content_policy_violation"
      || code == "context_length_exceeded")
    return 400;
  return 500;
}

} // namespace

openai_compatible::openai_compatible(openai_compatible_options options)
  : options_(std::move(options)),
    name_(model_name("openai-compatible", options_.model)) {
  // nop
}

lane_key openai_compatible::lane() const {
  return {"openai-compatible", options_.model};
}

provider_answer<std::string> openai_compatible::write(
  const text_request& request,
  const std::function<void(std::string_view piece)>& on_text,
  call_scope scope) {
  completion_stream stream{on_text};
  auto http = request_to(options_, "/v1/chat/completions",
                         body_of(request, options_), scope.trace);
  http.headers.emplace_back("Accept", "text/event-stream, application/json");
  if (!options_.api_key.empty())
    http.headers.emplace_back("Authorization", "Bearer " + options_.api_key);
  http.on_body = [&stream](std::string_view piece) {
    return stream.feed(piece);
  };
  auto got = net::send(http, std::move(scope.stop));
  auto* response = std::get_if<net::http_response>(&got);
  if (response != nullptr)
    stream.end();
  provider_answer<std::string> result{
    std::string{}, stream.used(), {}, stream.model()};
  if (response != nullptr)
    result.limits = openai_limits(*response);
  auto secrets = {std::string_view{request.prompt},
                  std::string_view{request.system},
                  std::string_view{options_.api_key}};
  auto fail = [&result](provider_failure err) {
    result.result = std::move(err);
    return std::move(result);
  };
  if (response != nullptr && (response->status < 200 || response->status > 299))
    return fail(failure_of_error(member(json_or_null(response->body), "error"),
                                 *response, name_, secrets));
  if (!stream.error().is_null()) {
    net::http_response as_status;
    as_status.status = status_of_stream_error(stream.error());
    return fail(failure_of_error(stream.error(), as_status, name_, secrets));
  }
  if (!stream.nonsense().empty())
    return fail(useless(name_, stream.nonsense()));
  auto& reason = stream.finish_reason();
  if (reason.empty()) {
    if (auto* err = std::get_if<net::client_failure>(&got))
      return fail(failure_of(*err, name_));
    if (!is_event_stream(*response))
      return fail(useless(name_, "is no chat completion"));
    return fail(cut_off(name_, "the stream has no end"));
  }
  if (reason == "content_filter" || stream.refused())
    return fail({run_outcome::failed_permanently,
                 "The " + name_ + " refuses to write about this",
                 {},
                 lane_effect::none});
  if (reason == "length")
    return fail(useless(name_, "was cut at its longest (length)"));
  if (reason != "stop")
    return fail(useless(name_, "ended for a reason that means nothing here"));
  if (text::is_blank(sanitized(stream.text())))
    return fail(useless(name_, "is empty"));
  result.result = stream.text();
  return result;
}

} // namespace reeve
