// config/log.cpp -- lines through spdlog, escaped here.
#include "config/log.hpp"

#include <nlohmann/json.hpp>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace reeve::log {

namespace {

// Leaves room for time and level, so that a whole line stays below 8 KiB.
constexpr size_t max_line_bytes = 8 * 1024 - 128;
constexpr size_t max_value_bytes = 2 * 1024;

format layout_in_use = format::text;

std::shared_ptr<spdlog::logger> make_logger() {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  return std::make_shared<spdlog::logger>("reeve", std::move(sink));
}

spdlog::logger& logger() {
  static auto instance = make_logger();
  return *instance;
}

// JSON's escapes cover all controls; U+007F, U+0085, U+2028 and U+2029 are
// legal in JSON yet break lines or drive terminals, so they are escaped too.
std::string escaped(std::string_view text) {
  auto cut = text.substr(0, max_value_bytes);
  auto dumped = nlohmann::json(cut).dump(
    -1, ' ', true, nlohmann::json::error_handler_t::replace);
  for (size_t i = 0; (i = dumped.find('\x7f', i)) != std::string::npos;)
    dumped.replace(i, 1, "\\u007f");
  // Nothing but escapes: a shorter cut, so that it fits beside its siblings.
  if (dumped.size() > 2 * max_value_bytes + 2)
    return escaped(text.substr(0, max_value_bytes / 3));
  return dumped;
}

bool is_plain(std::string_view text) {
  for (unsigned char c : text)
    if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\')
      return false;
  return !text.empty() && text.size() <= max_value_bytes;
}

void write(spdlog::level::level_enum level, std::string_view event, fields xs) {
  if (logger().should_log(level))
    logger().log(level, "{}", render(event, xs, layout_in_use));
}

} // namespace

std::string render(std::string_view event, fields xs, format layout) {
  auto is_json = layout == format::json;
  std::string result{event};
  if (is_json)
    result = "\"event\":" + escaped(event);
  for (const auto& x : xs) {
    if (x.key.empty())
      continue;
    std::string next;
    if (is_json)
      next = ',' + escaped(x.key) + ':' + escaped(x.value);
    else
      next = ' ' + std::string{x.key} + '='
        + (is_plain(x.value) ? x.value : escaped(x.value));
    // What does not fit is left out, so that it hides nothing behind it.
    if (result.size() + next.size() <= max_line_bytes)
      result += next;
  }
  return result;
}

void start(std::string_view level, format layout) {
  layout_in_use = layout;
  auto& out = logger();
  out.set_level(spdlog::level::from_str(std::string{level}));
  out.flush_on(spdlog::level::trace);
  auto time = spdlog::pattern_time_type::utc;
  if (layout == format::json)
    out.set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})",
                    time);
  else
    out.set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", time);
}

void debug(std::string_view event, fields xs) {
  write(spdlog::level::debug, event, xs);
}

void info(std::string_view event, fields xs) {
  write(spdlog::level::info, event, xs);
}

void warn(std::string_view event, fields xs) {
  write(spdlog::level::warn, event, xs);
}

void error(std::string_view event, fields xs) {
  write(spdlog::level::err, event, xs);
}

} // namespace reeve::log
