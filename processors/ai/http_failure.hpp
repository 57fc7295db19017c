// processors/ai/http_failure.hpp -- what failed requests to providers mean.
#pragma once

#include "net/client.hpp"
#include "processors/ai/provider.hpp"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace reeve {

/// What a request that got no whole answer means. `name` is whom it went to,
/// e.g. `analysis server 127.0.0.1:8000`.
///
/// - No connection, cut off, timeout: `provider_down`, lane outage.
/// - The configured URL or key cannot be used: `provider_down`, lane pause.
/// - The answer is too large: `failed`.
/// - The stop token fired: `cancelled`.
provider_failure failure_of(const net::client_failure& err,
                            const std::string& name);

/// What a status that is no success means. `detail` is what the provider says
/// about it, made safe by `safe_detail`.
///
/// - 429: `throttled`, lane throttle.
/// - 408, 425, 5xx: `provider_down`, lane outage.
/// - 401, 402, 403 (key, money) and 3xx, 404, 405 (URL) are the operator's to
///   mend: `provider_down`, lane pause.
/// - The other 4xx: `failed_permanently`.
/// - Anything else: `failed`.
///
/// A `Retry-After` of 401, 403, 408, 425, 429 and 5xx becomes the delay.
provider_failure failure_of(const net::http_response& response,
                            const std::string& name, const std::string& detail);

/// An answer that ended before it was whole.
provider_failure cut_off(const std::string& name, const std::string& how);

/// An answer that is of no use; asking again may help.
provider_failure useless(const std::string& name, const std::string& what);

/// Only people can mend this: the lane is to pause.
provider_failure paused(std::string message);

/// `HTTP 503 Service Unavailable`.
std::string status_text(int status);

/// A provider's words as one short line, to be shown to people: whoever sees a
/// job's error need not be allowed to see what was asked, so a line that
/// repeats a part of one of `secrets` is replaced. Empty when there are none.
std::string safe_detail(const std::string& raw,
                        std::initializer_list<std::string_view> secrets);

/// The failure of an answer of JSON that ended with its connection, without a
/// length and not in chunks, and is no JSON: the transport cannot tell its end
/// from a cut. None when it is whole, or of a known length.
std::optional<provider_failure> cut_off_json(const net::http_response& response,
                                             const std::string& name);

/// By its content type.
bool is_event_stream(const net::http_response& response);

/// The first field of that name; names are compared without case.
std::optional<std::string> field_of(const net::http_response& response,
                                    std::string_view name);

/// `host:port` of a URL, without user info.
std::string authority_of(const std::string& url);

} // namespace reeve
