// processors/ai/gemini.cpp -- pictures by Google's Gemini API.
#include "processors/ai/gemini.hpp"

#include "net/base64.hpp"
#include "persistence/text.hpp"
#include "processors/ai/http_failure.hpp"
#include "processors/ai/picture_type.hpp"
#include "processors/ai/rate_fields.hpp"

#include <algorithm>
#include <array>

namespace reeve {

namespace {

// Reasons for which no second try gives a picture.
constexpr std::array blocks = {
  std::string_view{"SAFETY"},
  std::string_view{"PROHIBITED_CONTENT"},
  std::string_view{"BLOCKLIST"},
  std::string_view{"SPII"},
  std::string_view{"IMAGE_SAFETY"},
  std::string_view{"IMAGE_PROHIBITED_CONTENT"},
};

nlohmann::json body_of(const image_request& request) {
  using nlohmann::json;
  json part{{"text", request.prompt}};
  json content{{"role", "user"}, {"parts", json::array({std::move(part)})}};
  json config{{"responseModalities", json::array({"TEXT", "IMAGE"})}};
  return {
    {"contents", json::array({std::move(content)})},
    {"generationConfig", std::move(config)},
  };
}

// A model's name is one segment of a path.
std::string as_segment(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string result;
  for (auto c : text) {
    auto is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
      || (c >= '0' && c <= '9')
      || std::string_view{"-._~"}.find(c) != std::string_view::npos;
    auto byte = static_cast<unsigned char>(c);
    if (is_plain)
      result += c;
    else
      result.append(1, '%')
        .append(1, digits[byte >> 4])
        .append(1, digits[byte & 15]);
  }
  return result;
}

std::string without_prefix(const std::string& model) {
  constexpr std::string_view prefix = "models/";
  return model.starts_with(prefix) ? model.substr(prefix.size()) : model;
}

// An upper-case name out of the answer, safe to be shown.
std::string reason_of(const nlohmann::json& object, const char* name) {
  auto result = text_member(object, name);
  auto is_name = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !result.empty() && result.size() <= 60
      && std::all_of(result.begin(), result.end(), is_name)
    ? result
    : "unknown";
}

// -- errors -------------------------------------------------------------------

// What the typed details of an error say.
struct error_details {
  std::optional<std::chrono::milliseconds> retry_delay;
  bool bad_key = false;
};

error_details details_of(const nlohmann::json& err) {
  error_details result;
  const auto& list = member(err, "details");
  if (!list.is_array())
    return result;
  for (const auto& x : list) {
    if (text_member(x, "@type").ends_with("google.rpc.RetryInfo"))
      result.retry_delay = parse_duration(text_member(x, "retryDelay"));
    auto reason = text_member(x, "reason");
    result.bad_key = result.bad_key || reason == "API_KEY_INVALID"
      || reason == "API_KEY_EXPIRED" || reason == "API_KEY_SERVICE_BLOCKED";
  }
  return result;
}

provider_failure failure_of_status(
  const net::http_response& response, const std::string& name,
  std::initializer_list<std::string_view> secrets) {
  auto json = json_or_null(response.body);
  const auto& err = member(json, "error");
  auto status = text_member(err, "status");
  auto details = details_of(err);
  auto detail = safe_detail(text_member(err, "message"), secrets);
  auto more = " (" + status_text(response.status) + ")"
    + (detail.empty() ? "" : ": " + detail);
  auto result = failure_of(response, name, detail);
  if (details.bad_key || status == "UNAUTHENTICATED"
      || status == "PERMISSION_DENIED")
    return paused("The " + name + " refused our credentials ("
                  + status_text(response.status)
                  + "); check the configured API key");
  // E.g. a country or a plan in which the model is not to be had.
  if (status == "FAILED_PRECONDITION")
    return paused("The " + name + " is not to be had" + more);
  if (response.status == 404)
    return paused("The " + name
                  + " is not known there; check the configured URL and model"
                  + more);
  if (result.kind == run_outcome::throttled && details.retry_delay)
    result.delay = std::max(details.retry_delay.value(),
                            result.delay.value_or(details.retry_delay.value()));
  return result;
}

provider_failure blocked(const std::string& name, const std::string& reason) {
  return {run_outcome::failed_permanently,
          "The " + name + " refuses to draw this (" + reason + ")",
          {},
          lane_effect::none};
}

// The first picture that is no sketch of the model's thoughts; null if none.
const nlohmann::json& picture_in(const nlohmann::json& candidate) {
  static const nlohmann::json nothing;
  const auto& parts = member(member(candidate, "content"), "parts");
  if (!parts.is_array())
    return nothing;
  for (const auto& part : parts)
    if (member(part, "thought") != true
        && member(part, "inlineData").is_object())
      return member(part, "inlineData");
  return nothing;
}

} // namespace

gemini::gemini(gemini_options options)
  : options_(std::move(options)),
    model_(without_prefix(options_.model)),
    name_(model_name("gemini", model_)) {
  // nop
}

lane_key gemini::lane() const {
  return {"gemini", model_};
}

provider_answer<image> gemini::draw(const image_request& request,
                                    call_scope scope) {
  auto path = "/v1beta/models/" + as_segment(model_) + ":generateContent";
  auto http = request_to(options_, path, body_of(request), scope.trace);
  http.headers.emplace_back("Accept", "application/json");
  http.headers.emplace_back("x-goog-api-key", options_.api_key);
  auto got = net::send(http, std::move(scope.stop));
  if (auto* err = std::get_if<net::client_failure>(&got))
    return {failure_of(*err, name_), {}, {}, {}};
  const auto& response = std::get<net::http_response>(got);
  if (response.status < 200 || response.status > 299)
    return {
      failure_of_status(response, name_, {request.prompt, options_.api_key}),
      {},
      {},
      {}};
  if (auto err = cut_off_json(response, name_))
    return {*std::move(err), {}, {}, {}};
  try {
    return answer_of(
      net::parse_json(response.body, {.depth = 32, .elements = 20'000}));
  } catch (const net::json_error&) {
    return {useless(name_, "is no usable JSON"), {}, {}, {}};
  }
}

provider_answer<image> gemini::answer_of(const nlohmann::json& json) const {
  const auto& counts = member(json, "usageMetadata");
  provider_answer<image> result{image{},
                                {count_member(counts, "promptTokenCount"),
                                 count_member(counts, "candidatesTokenCount")
                                   + count_member(counts, "thoughtsTokenCount"),
                                 0},
                                {},
                                text_member(json, "modelVersion")};
  auto fail = [&result](provider_failure err) {
    result.result = std::move(err);
    return std::move(result);
  };
  const auto& feedback = member(json, "promptFeedback");
  if (!text_member(feedback, "blockReason").empty())
    return fail(blocked(name_, reason_of(feedback, "blockReason")));
  const auto& candidates = member(json, "candidates");
  if (!candidates.is_array() || candidates.empty())
    return fail(useless(name_, "has no candidate"));
  const auto& candidate = candidates.front();
  auto reason = reason_of(candidate, "finishReason");
  if (std::find(blocks.begin(), blocks.end(), reason) != blocks.end())
    return fail(blocked(name_, reason));
  const auto& picture = picture_in(candidate);
  if (picture.is_null())
    return fail(useless(name_, "has no picture (" + reason + ")"));
  result.used.images = 1;
  auto bytes = net::base64_decoded(text_member(picture, "data"));
  if (!bytes)
    return fail(useless(name_, "has a picture that is no base64"));
  auto type = picture_type(*bytes);
  if (type.empty())
    return fail(useless(name_, "has a picture that is no PNG, JPEG or WebP"));
  if (!is_same_type(text_member(picture, "mimeType"), type))
    return fail(useless(name_, "has a picture of another type than it says"));
  result.result = image{std::string{type}, *std::move(bytes)};
  return result;
}

} // namespace reeve
