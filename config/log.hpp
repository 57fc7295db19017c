// config/log.hpp -- one line per event: level, event id, key=value.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace reeve::log {

enum class format : uint8_t { text, json };

/// Where lines go: stderr, in one format, from one level upwards (`trace`,
/// `debug`, `info`, `warn`, `error`, `off`). Call once, before any thread.
void start(std::string_view level, format layout);

/// A named value of a line; without a name it is left out. Never a payload,
/// never a credential.
struct field {
  std::string_view key;
  std::string value;

  field(std::string_view k, std::string_view v) : key(k), value(v) {
    // nop
  }

  template <class T>
  requires(std::is_arithmetic_v<T>) field(std::string_view k, T v)
    : key(k), value(std::to_string(v)) {
    // nop
  }
};

using fields = std::initializer_list<field>;

/// Left out when there is no value.
inline field optional(std::string_view key, std::string_view value) {
  return {value.empty() ? std::string_view{} : key, value};
}

/// `event` is a stable id such as `store.claim-failed`: it can be searched in
/// the source and counted. Values are made one line of valid UTF-8 and a line
/// stays below 8 KiB (fields that do not fit are left out), so that no text can
/// forge or hide another one.
void debug(std::string_view event, fields xs = {});
void info(std::string_view event, fields xs = {});
void warn(std::string_view event, fields xs = {});
void error(std::string_view event, fields xs = {});

/// The line as it would be written, without time and level.
std::string render(std::string_view event, fields xs, format layout);

} // namespace reeve::log
