# The flags of our own code. Libraries get them through `reeve_internal`.

add_library(reeve_internal INTERFACE)
target_include_directories(reeve_internal INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(reeve_internal INTERFACE
  -Wall -Wextra $<$<BOOL:${REEVE_WERROR}>:-Werror>
  # GCC 12 reports false positives inside the standard library here
  # (GCC bugs 105329, 105651, 107852).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-maybe-uninitialized
    -Wno-stringop-overflow -Wno-array-bounds>
  -fstack-protector-strong
  $<$<AND:$<CONFIG:Release>,$<STREQUAL:${REEVE_SANITIZER},>>:-D_FORTIFY_SOURCE=2>)
target_link_options(reeve_internal INTERFACE
  -Wl,-z,relro,-z,now -Wl,--as-needed)
# Ten thousand relocations of the program itself, in a few pages.
include(CheckLinkerFlag)
check_linker_flag(CXX -Wl,-z,pack-relative-relocs REEVE_HAS_PACKED_RELOCATIONS)
if(REEVE_HAS_PACKED_RELOCATIONS)
  target_link_options(reeve_internal INTERFACE -Wl,-z,pack-relative-relocs)
endif()
target_link_libraries(reeve_internal INTERFACE Threads::Threads)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(REEVE_SANITIZER STREQUAL "address")
  target_compile_options(reeve_internal INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer)
  target_link_options(reeve_internal INTERFACE -fsanitize=address,undefined)
elseif(REEVE_SANITIZER STREQUAL "thread")
  target_compile_options(reeve_internal INTERFACE -fsanitize=thread
    -fno-omit-frame-pointer)
  target_link_options(reeve_internal INTERFACE -fsanitize=thread)
elseif(NOT REEVE_SANITIZER STREQUAL "")
  message(FATAL_ERROR "REEVE_SANITIZER must be address, thread or empty, not "
                      "'${REEVE_SANITIZER}'")
endif()

# reeve_library(NAME SOURCES ... LINK ...): one folder's static library.
function(reeve_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC reeve_internal ${ARG_LINK})
  reeve_check_headers(${name})
endfunction()
