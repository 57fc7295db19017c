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

# Libraries that many nodes never call.
include("${CMAKE_CURRENT_LIST_DIR}/delay_load.cmake")
get_target_property(reeve_curl_path CURL::libcurl IMPORTED_LOCATION)
if(NOT reeve_curl_path)
  set(reeve_curl_path "${CURL_LIBRARIES}")
endif()
reeve_delay_load(reeve_curl PATH "${reeve_curl_path}" TARGET CURL::libcurl
  SYMBOLS
    curl_easy_cleanup curl_easy_getinfo curl_easy_init curl_easy_setopt
    curl_easy_strerror curl_free curl_getdate curl_global_init
    curl_multi_add_handle curl_multi_cleanup curl_multi_info_read
    curl_multi_init curl_multi_perform curl_multi_poll
    curl_multi_remove_handle curl_multi_wakeup curl_slist_append
    curl_slist_free_all curl_url curl_url_cleanup curl_url_get curl_url_set)
# What a shared libpqxx calls is bound when that is loaded.
get_target_property(reeve_pqxx_target libpqxx::pqxx ALIASED_TARGET)
if(NOT reeve_pqxx_target)
  set(reeve_pqxx_target libpqxx::pqxx)
endif()
get_target_property(reeve_pqxx_type ${reeve_pqxx_target} TYPE)
if(reeve_pqxx_type STREQUAL "STATIC_LIBRARY")
  reeve_delay_load(reeve_pq PATH "${PostgreSQL_LIBRARY_RELEASE}"
    TARGET PostgreSQL::PostgreSQL
    SYMBOLS
    PQbackendPID PQcancel PQclear PQclientEncoding PQcmdStatus PQcmdTuples
    PQconnectPoll PQconnectStart PQconnectdb PQconnectdbParams PQconninfo
    PQconninfoFree PQconninfoParse PQconsumeInput PQdb PQencryptPassword
    PQencryptPasswordConn PQerrorMessage PQescapeIdentifier PQescapeStringConn
    PQexec PQexecParams PQexecPrepared PQfinish PQflush PQfmod PQfname
    PQfnumber PQfreeCancel PQfreemem PQfsize PQftable PQftablecol PQftype
    PQgetCancel PQgetCopyData PQgetResult PQgetisnull PQgetlength PQgetvalue
    PQhost PQinitOpenSSL PQisBusy PQisthreadsafe PQnfields PQnotifies
    PQntuples PQoidValue PQparameterStatus PQping PQport PQprepare
    PQprotocolVersion PQputCopyData PQputCopyEnd PQresultErrorField
    PQresultErrorMessage PQresultStatus PQsendPrepare PQsendQuery
    PQsendQueryParams PQsendQueryPrepared PQserverVersion PQsetClientEncoding
    PQsetErrorVerbosity PQsetNoticeProcessor PQsetnonblocking PQsocket
    PQstatus PQtrace PQtransactionStatus PQunescapeBytea PQuntrace PQuser
    lo_close lo_creat lo_create lo_export lo_import lo_import_with_oid
    lo_lseek64 lo_open lo_read lo_tell64 lo_truncate64 lo_unlink lo_write
    pg_encoding_to_char)
  set_target_properties(${reeve_pqxx_target} PROPERTIES
    INTERFACE_LINK_LIBRARIES reeve_pq)
else()
  add_library(reeve_pq INTERFACE)
  target_link_libraries(reeve_pq INTERFACE PostgreSQL::PostgreSQL)
endif()
