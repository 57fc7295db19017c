# Everything Reeve links, from the machine's packages or from the prefix that
# scripts/setup fills. Headers of dependencies are SYSTEM: they may warn.

if(DEFINED ENV{REEVE_PREFIX})
  set(reeve_default_prefix "$ENV{REEVE_PREFIX}")
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(reeve_default_prefix "$ENV{XDG_CACHE_HOME}/reeve/prefix")
else()
  set(reeve_default_prefix "$ENV{HOME}/.cache/reeve/prefix")
endif()
set(REEVE_PREFIX "${reeve_default_prefix}"
    CACHE PATH "Where scripts/setup put CAF and libpqxx")
list(PREPEND CMAKE_PREFIX_PATH "${REEVE_PREFIX}")

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
endif()

find_package(Threads REQUIRED)
find_package(CAF 0.18.7 EXACT REQUIRED COMPONENTS core io test)
find_package(PostgreSQL REQUIRED)
# Debian's own package has no CMake files, a build from source has.
find_package(libpqxx 7.10 QUIET)
if(NOT TARGET libpqxx::pqxx)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(PQXX REQUIRED IMPORTED_TARGET libpqxx>=7.10)
  add_library(libpqxx::pqxx ALIAS PkgConfig::PQXX)
endif()
find_package(SQLiteCpp REQUIRED)
find_package(SQLite3 3.35 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(CURL 7.88 REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
find_package(ICU REQUIRED COMPONENTS uc i18n)
