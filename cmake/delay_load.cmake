# reeve_delay_load(NAME PATH FILE TARGET IMPORTED SYMBOLS ...): a library NAME
# with the functions SYMBOLS of the shared library FILE, which the process loads
# when it calls the first of them.
#
# libcurl and libpq bring three dozen libraries (LDAP, Kerberos, GnuTLS, ...).
# Loading them is more than half of the time from exec to main and 5 MB of
# memory, for nodes that use neither. A function that is not in the list is
# undefined when `reeve` is linked: add it.
#
# Only for x86-64; elsewhere, and under sanitizers, NAME links IMPORTED.
function(reeve_delay_load name)
  cmake_parse_arguments(ARG "" "PATH;TARGET" "SYMBOLS" ${ARGN})
  set(soname "")
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SIZEOF_VOID_P EQUAL 8
     AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND REEVE_SANITIZER STREQUAL ""
     AND CMAKE_READELF AND ARG_PATH MATCHES "\\.so$")
    execute_process(COMMAND "${CMAKE_READELF}" -d "${ARG_PATH}"
      OUTPUT_VARIABLE dynamic ERROR_QUIET)
    if(dynamic MATCHES "SONAME[^[]*\\[([^]]+)\\]")
      set(soname "${CMAKE_MATCH_1}")
    endif()
  endif()
  if(soname STREQUAL "")
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${ARG_TARGET})
    return()
  endif()
  set(REEVE_LIBRARY ${name})
  set(REEVE_SONAME "${soname}")
  set(REEVE_DELAYED "")
  set(index 0)
  foreach(symbol IN LISTS ARG_SYMBOLS)
    string(APPEND REEVE_DELAYED " X(${index}, ${symbol})")
    math(EXPR index "${index} + 1")
  endforeach()
  set(source "${PROJECT_BINARY_DIR}/delay_load/${name}.cpp")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/delay_load.cpp.in" "${source}"
    @ONLY)
  add_library(${name} STATIC "${source}")
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${name} SYSTEM INTERFACE
    $<TARGET_PROPERTY:${ARG_TARGET},INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
endfunction()
