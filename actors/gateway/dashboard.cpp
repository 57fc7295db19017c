// actors/gateway/dashboard.cpp -- serves the embedded files. A page shows texts
// of strangers: it may load, run and talk to nothing but its own node.
#include "actors/gateway/dashboard.hpp"

#include "actors/gateway/dashboard_files.hpp"
#include "actors/gateway/routes.hpp"
#include "net/problem.hpp"
#include "net/text.hpp"

#include <algorithm>
#include <array>

namespace reeve {

namespace {

constexpr std::string_view page_name = "index.html";

constexpr std::array<std::string_view, 7> views{
  "jobs", "failures", "types", "providers", "actors", "books", "cards"};

constexpr std::string_view policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; "
  "img-src 'self' blob:; connect-src 'self'; base-uri 'none'; "
  "form-action 'none'; frame-ancestors 'none'; "
  "require-trusted-types-for 'script'; trusted-types 'none'";

constexpr std::string_view not_built =
  "<!doctype html>\n"
  "<html lang=\"en\"><head><meta charset=\"utf-8\">"
  "<title>Reeve</title></head><body>\n"
  "<h1>The dashboard was not built</h1>\n"
  "<p>This node works, but its binary has no dashboard: npm (with Node.js 18 "
  "or newer) was not there when it was built. Run <code>scripts/setup</code>, "
  "or <code>apt-get install npm</code>, then configure and build again "
  "(<code>cmake --preset release &amp;&amp; cmake --build --preset "
  "release</code>).</p>\n"
  "<p>The API answers at <a href=\"/api/jobs\">/api/jobs</a> and "
  "<a href=\"/api/stats\">/api/stats</a>.</p>\n"
  "</body></html>\n";

using header_list = std::vector<std::pair<std::string, std::string>>;

bool is_asset(const std::vector<std::string>& segments) {
  return segments.size() == 2 && segments[0] == "assets";
}

const dashboard_file* find_file(std::string_view name) {
  auto files = dashboard_files();
  auto i = std::find_if(files.begin(), files.end(),
                        [name](const auto& file) { return file.name == name; });
  return i != files.end() ? &*i : nullptr;
}

/// One of a file's forms. Each has an ETag of its own.
struct form {
  std::string_view coding;
  std::string_view bytes;
};

form choose(const dashboard_file& file, std::string_view accepted) {
  if (!file.brotli.empty() && accepts_coding(accepted, "br"))
    return {"br", file.brotli};
  if (!file.gzip.empty() && accepts_coding(accepted, "gzip"))
    return {"gzip", file.gzip};
  return {"", file.plain};
}

void add_protection(header_list& out) {
  out.emplace_back("Content-Security-Policy", policy);
  out.emplace_back("X-Content-Type-Options", "nosniff");
  out.emplace_back("Referrer-Policy", "no-referrer");
}

void send(exchange& x, const dashboard_file& file, bool is_immutable) {
  auto [coding, bytes] =
    choose(file, x.request().header("accept-encoding").value_or(""));
  auto etag = '"' + std::string{file.digest.substr(0, 32)};
  if (!coding.empty())
    etag.append("-").append(coding);
  etag += '"';
  header_list headers{
    {"ETag", etag},
    {"Vary", "Accept-Encoding"},
    {"Cache-Control",
     is_immutable ? "public, max-age=31536000, immutable" : "no-cache"}};
  add_protection(headers);
  auto known = x.request().header("if-none-match");
  if (known && matches(*known, etag))
    return x.respond(net::http_response{304, std::move(headers), {}});
  headers.emplace_back("Content-Type", file.content_type);
  if (!coding.empty())
    headers.emplace_back("Content-Encoding", coding);
  x.respond(net::http_response{200, std::move(headers), std::string{bytes}});
}

void send_not_built(exchange& x) {
  header_list headers{{"Content-Type", "text/html; charset=utf-8"},
                      {"Cache-Control", "no-store"}};
  add_protection(headers);
  x.respond(
    net::http_response{200, std::move(headers), std::string{not_built}});
}

std::string_view trimmed(std::string_view x) {
  while (!x.empty() && (x.front() == ' ' || x.front() == '\t'))
    x.remove_prefix(1);
  while (!x.empty() && (x.back() == ' ' || x.back() == '\t'))
    x.remove_suffix(1);
  return x;
}

// `0`, `0.`, `0.0`, …
bool is_zero(std::string_view weight) {
  return !weight.empty() && weight.find_first_not_of("0.") == weight.npos;
}

} // namespace

bool accepts_coding(std::string_view field, std::string_view coding) {
  while (!field.empty()) {
    auto entry = field.substr(0, field.find(','));
    field.remove_prefix(std::min(entry.size() + 1, field.size()));
    auto name = trimmed(entry.substr(0, entry.find(';')));
    if (!net::iequals(name, coding))
      continue;
    auto weight = entry.find('=');
    return weight == entry.npos || !is_zero(trimmed(entry.substr(weight + 1)));
  }
  return false;
}

bool is_dashboard_path(const std::vector<std::string>& segments) {
  return segments.empty() || is_asset(segments)
    || std::find(views.begin(), views.end(), segments[0]) != views.end();
}

void get_dashboard(exchange& x) {
  const auto& request = x.request();
  if (request.method != "GET" && request.method != "HEAD") {
    auto response =
      net::problem(405, "method_not_allowed", "Allowed here are GET, HEAD");
    response.headers.emplace_back("Allow", "GET, HEAD");
    return x.respond(std::move(response));
  }
  if (!is_asset(request.segments)) {
    const auto* page = find_file(page_name);
    return page != nullptr ? send(x, *page, false) : send_not_built(x);
  }
  if (const auto* asset = find_file("assets/" + request.segments[1]))
    return send(x, *asset, true);
  x.fail(404, "not_found", "This build of the dashboard has no such file");
}

} // namespace reeve
