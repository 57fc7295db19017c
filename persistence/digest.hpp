// persistence/digest.hpp -- SHA-256, as text.
#pragma once

#include <string>
#include <string_view>

namespace reeve {

/// SHA-256 of `bytes` in 64 lower-case hexadecimal digits. Throws
/// `std::runtime_error` when libcrypto cannot compute it.
std::string sha256_hex(std::string_view bytes);

} // namespace reeve
