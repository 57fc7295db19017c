// tests/integration/persistence/sqlite_backend.hpp -- a SQLite file in a
// folder of its own.
#pragma once

#include "persistence/sqlite_store.hpp"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace reeve {

/// A folder that goes with the object.
class temporary_folder {
public:
  temporary_folder() {
    auto name =
      (std::filesystem::temp_directory_path() / "reeve-XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw std::runtime_error("cannot make a temporary folder");
    path_ = name;
  }

  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const {
    return path_;
  }

private:
  std::filesystem::path path_;
};

/// The backend of the conformance tests for SQLite.
class sqlite_backend {
public:
  sqlite_backend() {
    factory->migrate();
  }

  std::unique_ptr<job_store> connect() {
    return factory->connect();
  }

  int64_t number(const std::string& sql) {
    SQLite::Database db{file, SQLite::OPEN_READWRITE, 5'000};
    return db.execAndGet(sql).getInt64();
  }

  temporary_folder folder;
  std::string file = (folder.path() / "reeve.db").string();
  std::unique_ptr<store_factory> factory = make_sqlite_factory(file);
};

} // namespace reeve
