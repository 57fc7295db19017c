# reeve_embed_text(LIBRARY FILE FUNCTION): compiles a text file into LIBRARY as
# `std::string_view FUNCTION()`, to be declared by a header of it.
#
# The same file is the script that writes the source at build time:
#   cmake -DFUNCTION=… -DOUTPUT=… -DFILE=… -P embed_text.cmake

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  file(READ "${FILE}" text)
  file(WRITE "${OUTPUT}"
       "// Written by cmake/embed_text.cmake.\n"
       "#include <string_view>\n\n"
       "namespace reeve {\n\n"
       "std::string_view ${FUNCTION}();\n\n"
       "std::string_view ${FUNCTION}() {\n"
       "  return R\"embedded(${text})embedded\";\n}\n\n} // namespace reeve\n")
  return()
endif()

set(reeve_embed_text_script "${CMAKE_CURRENT_LIST_FILE}")

function(reeve_embed_text library file function)
  set(input "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DFUNCTION=${function}" "-DOUTPUT=${output}"
            "-DFILE=${input}" -P "${reeve_embed_text_script}"
    DEPENDS "${input}" "${reeve_embed_text_script}"
    COMMENT "Embedding ${file}"
    VERBATIM)
  target_sources(${library} PRIVATE "${output}")
endfunction()
