// processors/ai/analysis_server.cpp -- analysis by an HTTP service.
#include "processors/ai/analysis_server.hpp"

#include "net/client.hpp"
#include "net/json.hpp"
#include "net/text.hpp"
#include "persistence/text.hpp"
#include "processors/text/plain_text.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace reeve {

namespace {

using answer = std::variant<analysis, provider_failure>;

constexpr size_t max_detail_code_points = 200;

// An answer has an embedding of at most 4,096 numbers and a few tags.
constexpr net::json_limits answer_limits{.depth = 16, .elements = 20'000};

// Host and port of a URL, without user info.
std::string authority_of(const std::string& url) {
  std::string_view rest{url};
  auto is_https = rest.starts_with("https://");
  if (auto i = rest.find("://"); i != std::string_view::npos)
    rest.remove_prefix(i + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  if (auto i = rest.rfind('@'); i != std::string_view::npos)
    rest.remove_prefix(i + 1);
  auto after_address = rest.find(']');
  auto colon =
    rest.find(':', after_address == std::string_view::npos ? 0 : after_address);
  auto result = text::one_line(sanitized(rest));
  if (colon == std::string_view::npos)
    result += is_https ? ":443" : ":80";
  return result;
}

std::string endpoint_of(std::string url) {
  while (url.ends_with('/'))
    url.pop_back();
  return url + "/analyze";
}

std::string request_body(const scrap& input) {
  // Absent rather than null: a service that insists on strings takes it too.
  nlohmann::json result{{"text", input.content}};
  if (input.title)
    result["title"] = *input.title;
  if (input.url)
    result["url"] = *input.url;
  return net::dump_json(result);
}

// -- what the service says about an error -------------------------------------

// Looks for stretches of the text: whoever sees a job's error need not be
// allowed to see the scrap.
bool repeats(std::string_view detail, std::string_view text) {
  constexpr size_t window = 16;
  constexpr size_t step = window / 2;
  if (text.size() < window)
    return text.size() >= step && detail.find(text) != std::string_view::npos;
  for (size_t i = 0; i + window <= detail.size(); i += step)
    if (text.find(detail.substr(i, window)) != std::string_view::npos)
      return true;
  return false;
}

// FastAPI's `detail` is a string, or a list of what was wrong where. Its
// entries also have the offending input, which is left out.
std::string raw_detail(const std::string& body) {
  try {
    auto json = net::parse_json(body, answer_limits);
    if (!json.is_object() || !json.contains("detail"))
      return {};
    const auto& detail = json["detail"];
    if (detail.is_string())
      return detail.get<std::string>();
    std::string result;
    if (!detail.is_array())
      return result;
    for (const auto& entry : detail) {
      if (!entry.is_object() || !entry.contains("msg")
          || !entry["msg"].is_string())
        continue;
      result += result.empty() ? "" : "; ";
      if (entry.contains("loc") && entry["loc"].is_array())
        for (const auto& step : entry["loc"])
          result +=
            (step.is_string() ? step.get<std::string>() : net::dump_json(step))
            + (&step == &entry["loc"].back() ? ": " : ".");
      result += entry["msg"].get<std::string>();
    }
    return result;
  } catch (const net::json_error&) {
    return {};
  }
}

std::string detail_of(const std::string& body, const scrap& input) {
  auto detail = truncated(text::one_line(sanitized(raw_detail(body))),
                          max_detail_code_points);
  if (detail.empty())
    return {};
  for (const auto* part :
       {&input.content, input.title ? &*input.title : nullptr,
        input.url ? &*input.url : nullptr})
    if (part != nullptr && repeats(detail, *part))
      return " (its explanation repeats the text and is left out)";
  return ": " + detail;
}

// -- failures -----------------------------------------------------------------

provider_failure failure_of(const net::client_failure& err,
                            const std::string& name) {
  switch (err.code) {
    case net::client_error::unreachable:
      return {run_outcome::provider_down,
              "No connection to " + name + " (" + err.message + ")",
              {}};
    case net::client_error::cut_off:
      return {run_outcome::provider_down,
              "The answer of " + name + " was cut off (" + err.message + ")",
              {}};
    case net::client_error::timeout:
      return {run_outcome::provider_down,
              "No answer in time from " + name + " (" + err.message + ")",
              {}};
    case net::client_error::too_large:
      return {run_outcome::failed,
              "The answer of " + name + " is too large (" + err.message + ")",
              {}};
    case net::client_error::cancelled:
      return {
        run_outcome::cancelled, "The request to " + name + " was stopped", {}};
    case net::client_error::bad_request:
      break;
  }
  return {run_outcome::provider_down,
          "The configured URL or key of " + name + " cannot be used ("
            + err.message + ")",
          {}};
}

provider_failure failure_of(const net::http_response& response,
                            const std::string& name, const scrap& input) {
  auto status = response.status;
  auto http = "HTTP " + std::to_string(status);
  if (auto phrase = net::reason_phrase(status); !phrase.empty())
    http.append(" ").append(phrase);
  auto delay = net::retry_after(response, std::chrono::system_clock::now());
  if (status == 429)
    return {run_outcome::throttled,
            "The " + name + " asks for fewer requests (" + http + ")", delay};
  if (status == 401 || status == 403)
    return {run_outcome::provider_down,
            "The " + name + " refused our credentials (" + http
              + "); check the configured API key",
            delay};
  if (status == 408 || status == 425 || (status >= 500 && status <= 599))
    return {run_outcome::provider_down,
            "The " + name + " is not available (" + http + ")", delay};
  if (status >= 400 && status <= 499)
    return {run_outcome::failed_permanently,
            "The " + name + " refused the request (" + http + ")"
              + detail_of(response.body, input),
            {}};
  if (status >= 300 && status <= 399)
    return {run_outcome::failed_permanently,
            "The " + name + " redirects elsewhere (" + http
              + "), which is not followed; check the configured URL",
            {}};
  return {run_outcome::failed,
          "The " + name + " answered with a status that means nothing here ("
            + http + ")",
          {}};
}

// No length was announced and no byte came: the connection ended in the head
// or right behind it, which the transport cannot tell from an empty answer.
bool is_cut_off(const net::http_response& response) {
  auto has_length = [](const auto& x) {
    return net::iequals(x.first, "content-length");
  };
  return response.status != 204 && response.body.empty()
    && std::none_of(response.headers.begin(), response.headers.end(),
                    has_length);
}

// -- the answer ---------------------------------------------------------------

// Why `json` is not of the right form; empty when it is.
std::string wrong_shape(const nlohmann::json& json) {
  auto all = [&json](const char* name, auto is) {
    return json.contains(name) && json[name].is_array()
      && std::all_of(json[name].begin(), json[name].end(), is);
  };
  if (!json.is_object())
    return "is no JSON object";
  if (!json.contains("summary") || !json["summary"].is_string())
    return "has no string `summary`";
  if (!all("tags", [](const auto& x) { return x.is_string(); }))
    return "has no `tags` that are an array of strings";
  if (!all("embedding", [](const auto& x) { return x.is_number(); }))
    return "has no `embedding` that is an array of numbers";
  if (json.contains("model") && !json["model"].is_string()
      && !json["model"].is_null())
    return "has a `model` that is no string";
  return {};
}

// The conversion of a double that no float can hold is undefined.
float narrowed(double x) {
  constexpr auto most = static_cast<double>(std::numeric_limits<float>::max());
  if (x > most || x < -most)
    return std::numeric_limits<float>::infinity();
  return static_cast<float>(x);
}

answer parsed(const std::string& body, const std::string& name) {
  auto bad = [&name](const std::string& what) {
    return provider_failure{
      run_outcome::failed, "The answer of " + name + " " + what, {}};
  };
  nlohmann::json json;
  try {
    json = net::parse_json(body, answer_limits);
  } catch (const net::json_error& err) {
    return bad(
      "is no usable JSON ("
      + truncated(text::one_line(sanitized(err.what())), max_detail_code_points)
      + ")");
  }
  if (auto why = wrong_shape(json); !why.empty())
    return bad(why);
  analysis result;
  result.summary = json["summary"].get<std::string>();
  result.tags = json["tags"].get<std::vector<std::string>>();
  for (const auto& x : json["embedding"])
    result.embedding.push_back(narrowed(x.get<double>()));
  result.model = json.contains("model") && json["model"].is_string()
    ? json["model"].get<std::string>()
    : "analysis-server";
  if (text::is_blank(result.summary))
    return bad("has an empty `summary`");
  return result;
}

} // namespace

analysis_server::analysis_server(analysis_server_options options)
  : options_(std::move(options)),
    name_("analysis server " + authority_of(options_.url)) {
  // nop
}

answer analysis_server::analyze(const scrap& input, std::stop_token stop) {
  net::client_request request;
  request.url = endpoint_of(options_.url);
  request.headers = {{"Content-Type", "application/json"},
                     {"Accept", "application/json"}};
  if (!options_.api_key.empty())
    request.headers.emplace_back("Authorization", "Bearer " + options_.api_key);
  request.body = request_body(input);
  request.connect_timeout = options_.connect_timeout;
  request.total_timeout = options_.total_timeout;
  request.max_response_bytes = options_.max_response_bytes;
  auto got = net::send(request, std::move(stop));
  if (auto* err = std::get_if<net::client_failure>(&got))
    return failure_of(*err, name_);
  const auto& response = std::get<net::http_response>(got);
  if (response.status < 200 || response.status > 299)
    return failure_of(response, name_, input);
  if (is_cut_off(response))
    return provider_failure{run_outcome::provider_down,
                            "The answer of " + name_
                              + " was cut off before its first byte",
                            {}};
  return parsed(response.body, name_);
}

} // namespace reeve
