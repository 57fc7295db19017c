// processors/ai/picture_type.cpp -- what kind of picture some bytes are.
#include "processors/ai/picture_type.hpp"

#include "net/text.hpp"

namespace reeve {

std::string_view picture_type(std::string_view bytes) noexcept {
  using namespace std::literals;
  // The first chunk of a PNG is always its header.
  if (bytes.starts_with("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"sv))
    return "image/png";
  if (bytes.starts_with("\xff\xd8\xff"sv) && bytes.size() > 4)
    return "image/jpeg";
  if (bytes.starts_with("RIFF"sv) && bytes.substr(4).size() >= 12
      && bytes.substr(8, 7) == "WEBPVP8"sv)
    return "image/webp";
  return {};
}

bool is_same_type(std::string_view declared, std::string_view type) {
  auto plain = net::to_lower(net::trim(declared.substr(0, declared.find(';'))));
  return plain == type || (plain == "image/jpg" && type == "image/jpeg");
}

} // namespace reeve
