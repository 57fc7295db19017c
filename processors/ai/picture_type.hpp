// processors/ai/picture_type.hpp -- what kind of picture some bytes are.
#pragma once

#include <string>
#include <string_view>

namespace reeve {

/// `image/png`, `image/jpeg` or `image/webp`, by the signature of the format;
/// empty for everything else, texts such as SVG and HTML among it, which may
/// bring scripts along.
std::string_view picture_type(std::string_view bytes) noexcept;

/// True when a declared type (with any case and parameters) may be that of a
/// picture of `type`.
bool is_same_type(std::string_view declared, std::string_view type);

} // namespace reeve
