// persistence/migration.cpp -- numbered schema changes inside the binary.
#include "persistence/migration.hpp"

#include "persistence/digest.hpp"
#include "persistence/job_store.hpp"

#include <algorithm>

namespace reeve {

std::string migration::checksum() const {
  return sha256_hex(sql);
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
