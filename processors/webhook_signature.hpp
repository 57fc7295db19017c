// processors/webhook_signature.hpp -- signatures as receivers of webhooks know
// them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace reeve {

/// The key that a secret stands for: `whsec_` and base64 are decoded, anything
/// else is the key itself. None when what follows `whsec_` is not base64.
std::optional<std::string> webhook_key(std::string_view secret);

/// The value of `webhook-signature` (Standard Webhooks 1.0.0, "Signature
/// scheme"): `v1,` and the base64 of the HMAC-SHA256 of `id.timestamp.body`.
std::string webhook_signature(std::string_view key, std::string_view id,
                              std::chrono::sys_seconds when,
                              std::string_view body);

} // namespace reeve
