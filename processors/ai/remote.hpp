// processors/ai/remote.hpp -- what all providers at the other end of a network
// have in common.
#pragma once

#include "net/client.hpp"
#include "net/json.hpp"
#include "processors/trace_fields.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace reeve {

struct remote_options {
  /// Where the service is; the path of the API is appended.
  std::string url;
  /// Secret.
  std::string api_key;
  /// As the provider names it.
  std::string model;
  std::chrono::milliseconds connect_timeout{5'000};
  /// Connected, but no byte came for so long.
  std::chrono::milliseconds idle_timeout{60'000};
  /// From the request to the last byte of the answer.
  std::chrono::milliseconds total_timeout{600'000};
  /// A longer answer is a failure.
  size_t max_response_bytes = 8 * 1024 * 1024;
};

/// A POST of JSON to `path`, which starts with a slash, within a trace if there
/// is one.
net::client_request request_to(const remote_options& options,
                               std::string_view path,
                               const nlohmann::json& body,
                               const trace_context& trace);

/// `model PROVIDER/MODEL`, for messages.
std::string model_name(std::string_view provider, std::string_view model);

// -- reading answers ----------------------------------------------------------
// Providers add to their answers as they like; a member that is not there or
// of another type is as good as none.

/// The member, or null.
const nlohmann::json& member(const nlohmann::json& object, const char* name);

/// The string member, or an empty text.
std::string text_member(const nlohmann::json& object, const char* name);

/// The number member if it is a count; else 0.
uint64_t count_member(const nlohmann::json& object, const char* name);

/// JSON or null, for bodies of errors.
nlohmann::json json_or_null(std::string_view text);

} // namespace reeve
