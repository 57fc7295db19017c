// persistence/digest.cpp -- SHA-256 by libcrypto.
#include "persistence/digest.hpp"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace reeve {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(),
                 nullptr)
      != 1)
    throw std::runtime_error("libcrypto has no SHA-256");
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  result.reserve(2 * size);
  for (unsigned int i = 0; i < size; ++i) {
    result += digits[digest[i] >> 4];
    result += digits[digest[i] & 15];
  }
  return result;
}

} // namespace reeve
