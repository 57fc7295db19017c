# reeve_embed_dashboard(LIBRARY): builds web/ with npm and compiles its files
# into LIBRARY as `dashboard_files()` (actors/gateway/dashboard_files.hpp).
# Without npm, or with -DREEVE_DASHBOARD=OFF, there are none, and the node says
# so at `/`.
#
# The same file is the script that writes the source at build time:
#   cmake -DFOLDER=… -DOUTPUT=… -P dashboard.cmake

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  # Sets `variable` to an expression for the bytes of a file, or `{}`.
  function(embed variable file)
    if(NOT EXISTS "${file}")
      set(${variable} "{}" PARENT_SCOPE)
      return()
    endif()
    file(READ "${file}" bytes HEX)
    string(LENGTH "${bytes}" digits)
    math(EXPR size "${digits} / 2")
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(MAKE_C_IDENTIFIER "${file}" name)
    string(SHA256 name "${name}")
    string(SUBSTRING "${name}" 0 12 name)
    set(arrays
        "${arrays}constexpr unsigned char file_${name}[] = {\n${bytes}};\n\n"
        PARENT_SCOPE)
    set(${variable} "text_of(file_${name}, ${size})" PARENT_SCOPE)
  endfunction()

  set(arrays "")
  set(entries "")
  if(FOLDER)
    file(GLOB_RECURSE files RELATIVE "${FOLDER}" "${FOLDER}/*")
  endif()
  list(SORT files)
  foreach(name IN LISTS files)
    if(name MATCHES "\\.(gz|br)$")
      continue()
    elseif(name MATCHES "\\.html$")
      set(type "text/html; charset=utf-8")
    elseif(name MATCHES "\\.js$")
      set(type "text/javascript; charset=utf-8")
    elseif(name MATCHES "\\.css$")
      set(type "text/css; charset=utf-8")
    elseif(name MATCHES "\\.svg$")
      set(type "image/svg+xml")
    elseif(name MATCHES "\\.txt$")
      set(type "text/plain; charset=utf-8")
    elseif(name MATCHES "\\.woff2$")
      set(type "font/woff2")
    else()
      message(FATAL_ERROR "what type has ${name}?")
    endif()
    file(SHA256 "${FOLDER}/${name}" digest)
    embed(plain "${FOLDER}/${name}")
    embed(gzip "${FOLDER}/${name}.gz")
    embed(brotli "${FOLDER}/${name}.br")
    string(APPEND entries
           "    {\"${name}\", \"${type}\",\n     \"${digest}\",\n"
           "     ${plain},\n     ${gzip},\n     ${brotli}},\n")
  endforeach()
  set(head
      "// Written by cmake/dashboard.cmake.\n"
      "#include \"actors/gateway/dashboard_files.hpp\"\n\n"
      "#include <cstddef>\n\nnamespace reeve {\n\n")
  if(entries STREQUAL "")
    file(WRITE "${OUTPUT}" ${head}
         "std::span<const dashboard_file> dashboard_files() {\n"
         "  return {};\n}\n\n} // namespace reeve\n")
    return()
  endif()
  file(WRITE "${OUTPUT}" ${head}
       "namespace {\n\n"
       "std::string_view text_of(const unsigned char* bytes, size_t size) {\n"
       "  return {reinterpret_cast<const char*>(bytes), size};\n}\n\n"
       "${arrays}} // namespace\n\n"
       "std::span<const dashboard_file> dashboard_files() {\n"
       "  static const dashboard_file files[] = {\n${entries}  };\n"
       "  return files;\n}\n\n} // namespace reeve\n")
  return()
endif()

option(REEVE_DASHBOARD "Build the dashboard, when npm is there" ON)
set(reeve_dashboard_script "${CMAKE_CURRENT_LIST_FILE}")

# True in REEVE_HAS_NPM when the dashboard can be built and tested.
set(REEVE_HAS_NPM FALSE)
find_program(REEVE_NODE NAMES node nodejs)
find_program(REEVE_NPM npm)
if(NOT REEVE_DASHBOARD)
  message(STATUS "The dashboard is left out: REEVE_DASHBOARD is OFF")
elseif(NOT REEVE_NODE OR NOT REEVE_NPM)
  message(STATUS "The dashboard is left out: it takes npm, which is not here "
                 "(apt-get install npm)")
else()
  execute_process(COMMAND "${REEVE_NODE}" --version
    OUTPUT_VARIABLE reeve_node_version OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REGEX REPLACE "^v" "" reeve_node_version "${reeve_node_version}")
  if(reeve_node_version VERSION_LESS 18)
    message(STATUS "The dashboard is left out: it takes Node.js 18, and this "
                   "is ${reeve_node_version}")
  else()
    set(REEVE_HAS_NPM TRUE)
  endif()
endif()

function(reeve_embed_dashboard library)
  set(web "${PROJECT_SOURCE_DIR}/web")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/dashboard_files.cpp")
  if(NOT REEVE_HAS_NPM)
    add_custom_command(OUTPUT "${output}"
      COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}"
              -P "${reeve_dashboard_script}"
      DEPENDS "${reeve_dashboard_script}"
      COMMENT "Leaving the dashboard out"
      VERBATIM)
    target_sources(${library} PRIVATE "${output}")
    return()
  endif()
  # All builds share web/node_modules, which npm stamps with this file.
  set(installed "${web}/node_modules/.package-lock.json")
  add_custom_command(OUTPUT "${installed}"
    COMMAND "${CMAKE_COMMAND}" -E chdir "${web}"
            "${REEVE_NPM}" ci --ignore-scripts --no-audit --no-fund --loglevel=error
    COMMAND "${CMAKE_COMMAND}" -E touch "${installed}"
    DEPENDS "${web}/package.json" "${web}/package-lock.json"
    COMMENT "Installing what the dashboard is built with (-DREEVE_DASHBOARD=OFF leaves it out)"
    VERBATIM)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${web}/src/*")
  set(folder "${PROJECT_BINARY_DIR}/web")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${REEVE_NODE}" "${web}/build.mjs" "${folder}"
    COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${folder}" "-DOUTPUT=${output}"
            -P "${reeve_dashboard_script}"
    DEPENDS ${sources} "${web}/build.mjs" "${web}/tsconfig.json"
            "${installed}" "${reeve_dashboard_script}"
    COMMENT "Building the dashboard"
    VERBATIM)
  target_sources(${library} PRIVATE "${output}")
endfunction()
