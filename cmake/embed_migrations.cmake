# reeve_embed_migrations(LIBRARY DATABASE): compiles the numbered files of
# migrations/DATABASE into LIBRARY as `std::span<const migration>
# DATABASE_migrations()` (persistence/migration.hpp).
#
# The same file is the script that writes the source at build time:
#   cmake -DDATABASE=… -DOUTPUT=… -DFILES=a.sql,b.sql -P embed_migrations.cmake

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  string(REPLACE "," ";" FILES "${FILES}")
  set(entries "")
  foreach(file IN LISTS FILES)
    cmake_path(GET file FILENAME name)
    if(NOT name MATCHES "^([0-9][0-9][0-9][0-9])_[a-z0-9_]+\\.sql$")
      message(FATAL_ERROR "a migration is named NNNN_name.sql, not ${name}")
    endif()
    string(REGEX REPLACE "^0+" "" version "${CMAKE_MATCH_1}")
    file(READ "${file}" sql)
    string(APPEND entries
           "  {${version}, \"${name}\", R\"migration(${sql})migration\"},\n")
  endforeach()
  file(WRITE "${OUTPUT}"
       "// Written by cmake/embed_migrations.cmake.\n"
       "#include \"persistence/migration.hpp\"\n\n"
       "namespace reeve {\n\n"
       "namespace {\n\nconstexpr migration files[] = {\n${entries}};\n\n"
       "} // namespace\n\n"
       "std::span<const migration> ${DATABASE}_migrations() {\n"
       "  return files;\n}\n\n} // namespace reeve\n")
  return()
endif()

set(reeve_embed_script "${CMAKE_CURRENT_LIST_FILE}")

function(reeve_embed_migrations library database)
  file(GLOB files CONFIGURE_DEPENDS
       "${CMAKE_CURRENT_SOURCE_DIR}/migrations/${database}/*.sql")
  list(SORT files)
  list(JOIN files "," joined)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${database}_migrations.cpp")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DDATABASE=${database}" "-DOUTPUT=${output}"
            "-DFILES=${joined}" -P "${reeve_embed_script}"
    DEPENDS ${files} "${reeve_embed_script}"
    COMMENT "Embedding the ${database} migrations"
    VERBATIM)
  target_sources(${library} PRIVATE "${output}")
endfunction()
