// processors/webhook_signature.cpp -- signatures as receivers of webhooks know
// them.
#include "processors/webhook_signature.hpp"

#include "net/base64.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <stdexcept>

namespace reeve {

namespace {

const unsigned char* bytes_of(std::string_view x) {
  return reinterpret_cast<const unsigned char*>(x.data());
}

std::string base64(const unsigned char* data, size_t size) {
  // EVP_EncodeBlock ends with a NUL, which the string has room for.
  std::string result((size + 2) / 3 * 4, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(result.data()), data,
                  static_cast<int>(size));
  return result;
}

} // namespace

std::optional<std::string> webhook_key(std::string_view secret) {
  constexpr std::string_view prefix = "whsec_";
  if (secret.starts_with(prefix)) {
    auto key = net::base64_decoded(secret.substr(prefix.size()));
    return key && !key->empty() ? key : std::nullopt;
  }
  return std::string{secret};
}

std::string webhook_signature(std::string_view key, std::string_view id,
                              std::chrono::sys_seconds when,
                              std::string_view body) {
  auto content = std::string{id} + '.'
    + std::to_string(when.time_since_epoch().count()) + '.' + std::string{body};
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           bytes_of(content), content.size(), digest.data(), &size)
      == nullptr)
    throw std::runtime_error("libcrypto cannot compute an HMAC");
  return "v1," + base64(digest.data(), size);
}

} // namespace reeve
