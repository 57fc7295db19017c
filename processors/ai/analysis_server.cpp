// processors/ai/analysis_server.cpp -- analysis by an HTTP service.
#include "processors/ai/analysis_server.hpp"

#include "net/json.hpp"
#include "processors/ai/analysis_check.hpp"
#include "processors/ai/http_failure.hpp"
#include "processors/ai/remote.hpp"
#include "processors/text/plain_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace reeve {

namespace {

template <class T>
using result_or_failure = std::variant<T, provider_failure>;

// An answer has an embedding of at most 4,096 numbers and a few tags.
constexpr net::json_limits answer_limits{.depth = 16, .elements = 20'000};

nlohmann::json request_body(const scrap& input) {
  // Absent rather than null: a service that insists on strings takes it too.
  nlohmann::json result{{"text", input.content}};
  if (input.title)
    result["title"] = *input.title;
  if (input.url)
    result["url"] = *input.url;
  return result;
}

// -- what the service says about an error -------------------------------------

// FastAPI's `detail` is a string, or a list of what was wrong where. Its
// entries also have the offending input, which is left out.
std::string raw_detail(const std::string& body) {
  auto json = json_or_null(body);
  const auto& detail = member(json, "detail");
  if (detail.is_string())
    return detail.get<std::string>();
  std::string result;
  if (!detail.is_array())
    return result;
  for (const auto& entry : detail) {
    auto what = text_member(entry, "msg");
    if (what.empty())
      continue;
    result += result.empty() ? "" : "; ";
    const auto& place = member(entry, "loc");
    if (place.is_array())
      for (const auto& step : place)
        result +=
          (step.is_string() ? step.get<std::string>() : net::dump_json(step))
          + (&step == &place.back() ? ": " : ".");
    result += what;
  }
  return result;
}

// -- the answer ---------------------------------------------------------------

bool has_numbers(const nlohmann::json& json, const char* name) {
  const auto& x = member(json, name);
  return x.is_array() && std::all_of(x.begin(), x.end(), [](const auto& y) {
           return y.is_number();
         });
}

// Why `json` is not of the right form; empty when it is.
std::string wrong_embedding(const nlohmann::json& json) {
  if (!json.is_object())
    return "is no JSON object";
  if (!has_numbers(json, "embedding"))
    return "has no `embedding` that is an array of numbers";
  const auto& model = member(json, "model");
  if (!model.is_string() && !model.is_null())
    return "has a `model` that is no string";
  return {};
}

std::string wrong_analysis(const nlohmann::json& json) {
  if (!json.is_object())
    return "is no JSON object";
  if (!member(json, "summary").is_string())
    return "has no string `summary`";
  const auto& tags = member(json, "tags");
  if (!tags.is_array()
      || !std::all_of(tags.begin(), tags.end(),
                      [](const auto& x) { return x.is_string(); }))
    return "has no `tags` that are an array of strings";
  if (text::is_blank(text_member(json, "summary")))
    return "has an empty `summary`";
  return wrong_embedding(json);
}

// The conversion of a double that no float can hold is undefined.
float narrowed(double x) {
  constexpr auto most = static_cast<double>(std::numeric_limits<float>::max());
  if (x > most || x < -most)
    return std::numeric_limits<float>::infinity();
  return static_cast<float>(x);
}

std::vector<float> embedding_of(const nlohmann::json& json) {
  std::vector<float> result;
  for (const auto& x : member(json, "embedding"))
    result.push_back(narrowed(x.get<double>()));
  return result;
}

std::string model_of(const nlohmann::json& json) {
  auto result = text_member(json, "model");
  return result.empty() ? "analysis-server" : result;
}

usage usage_of(const nlohmann::json& json) {
  const auto& x = member(json, "usage");
  return {count_member(x, "input_tokens"), count_member(x, "output_tokens"), 0};
}

} // namespace

analysis_server::analysis_server(analysis_server_options options)
  : options_(std::move(options)),
    authority_(authority_of(options_.url)),
    name_("analysis server " + authority_) {
  // nop
}

lane_key analysis_server::lane() const {
  return {"analysis-server", authority_};
}

std::variant<nlohmann::json, provider_failure> analysis_server::ask(
  std::string_view path, const nlohmann::json& body,
  std::initializer_list<std::string_view> secrets, call_scope scope) {
  remote_options remote;
  remote.url = options_.url;
  remote.connect_timeout = options_.connect_timeout;
  // The service answers when its model is done: it is silent until then.
  remote.idle_timeout = std::chrono::milliseconds{0};
  remote.total_timeout = options_.total_timeout;
  remote.max_response_bytes = options_.max_response_bytes;
  auto request = request_to(remote, path, body, scope.trace);
  request.headers.emplace_back("Accept", "application/json");
  if (!options_.api_key.empty())
    request.headers.emplace_back("Authorization", "Bearer " + options_.api_key);
  auto got = net::send(request, std::move(scope.stop));
  if (auto* err = std::get_if<net::client_failure>(&got))
    return failure_of(*err, name_);
  const auto& response = std::get<net::http_response>(got);
  if (response.status < 200 || response.status > 299)
    return failure_of(response, name_,
                      safe_detail(raw_detail(response.body), secrets));
  if (auto err = cut_off_json(response, name_))
    return *std::move(err);
  nlohmann::json json;
  try {
    json = net::parse_json(response.body, answer_limits);
  } catch (const net::json_error& err) {
    return useless(
      name_, "is no usable JSON (" + safe_detail(err.what(), secrets) + ")");
  }
  return json;
}

provider_answer<analysis> analysis_server::analyze(const scrap& input,
                                                   call_scope scope) {
  auto got =
    ask("/analyze", request_body(input),
        {input.content, input.title.value_or(""), input.url.value_or("")},
        std::move(scope));
  if (auto* err = std::get_if<provider_failure>(&got))
    return {std::move(*err), {}, {}, {}};
  const auto& json = std::get<nlohmann::json>(got);
  provider_answer<analysis> result{
    analysis{}, usage_of(json), {}, model_of(json)};
  if (auto why = wrong_analysis(json); !why.empty()) {
    result.result = useless(name_, why);
    return result;
  }
  result.result = analysis{text_member(json, "summary"),
                           member(json, "tags").get<std::vector<std::string>>(),
                           embedding_of(json), result.model};
  return result;
}

provider_answer<std::vector<float>> analysis_server::embed(
  const std::string& text, call_scope scope) {
  auto got = ask("/embed", {{"text", text}}, {text}, std::move(scope));
  if (auto* err = std::get_if<provider_failure>(&got))
    return {std::move(*err), {}, {}, {}};
  const auto& json = std::get<nlohmann::json>(got);
  if (auto why = wrong_embedding(json); !why.empty())
    return {useless(name_, why), usage_of(json), {}, model_of(json)};
  provider_answer<std::vector<float>> result{
    embedding_of(json), usage_of(json), {}, model_of(json)};
  const auto& numbers = std::get<std::vector<float>>(result.result);
  if (numbers.empty() || numbers.size() > max_embedding_dimension
      || !std::all_of(numbers.begin(), numbers.end(),
                      [](float x) { return std::isfinite(x); }))
    result.result = useless(name_, "has an embedding that cannot be compared");
  return result;
}

} // namespace reeve
