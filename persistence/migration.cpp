// persistence/migration.cpp -- numbered schema changes inside the binary.
#include "persistence/migration.hpp"

#include "persistence/job_store.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <openssl/evp.h>

namespace reeve {

std::string migration::checksum() const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(sql.data(), sql.size(), digest.data(), &size, EVP_sha256(),
                 nullptr)
      != 1)
    throw std::runtime_error("libcrypto has no SHA-256");
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (unsigned int i = 0; i < size; ++i) {
    result += digits[digest[i] >> 4];
    result += digits[digest[i] & 15];
  }
  return result;
}

std::vector<migration> outstanding(
  std::span<const migration> known,
  const std::vector<applied_migration>& applied) {
  for (const auto& row : applied) {
    auto file = std::ranges::find(known, row.version, &migration::version);
    if (file == known.end())
      throw schema_mismatch("the database has migration " + row.name
                            + ", which this version of reeve does not know; "
                              "run a newer reeve");
    if (file->checksum() != row.checksum)
      throw schema_mismatch("migration " + std::string{file->name}
                            + " differs from the one the database was made "
                              "with");
  }
  std::vector<migration> result;
  for (const auto& file : known)
    if (std::ranges::find(applied, file.version, &applied_migration::version)
        == applied.end())
      result.push_back(file);
  return result;
}

} // namespace reeve
