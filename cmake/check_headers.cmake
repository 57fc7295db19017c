# Target `check-headers`: every header of a library compiles alone.

add_custom_target(check-headers)

function(reeve_check_headers library)
  file(GLOB headers CONFIGURE_DEPENDS
       RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" *.hpp */*.hpp)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR
             BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE folder)
  set(sources)
  foreach(header IN LISTS headers)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/check-headers/${header}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "#include \"${folder}/${header}\"\n")
    list(APPEND sources "${source}")
  endforeach()
  if(sources)
    add_library(${library}-check-headers OBJECT EXCLUDE_FROM_ALL ${sources})
    target_link_libraries(${library}-check-headers PRIVATE
      $<TARGET_PROPERTY:${library},INTERFACE_LINK_LIBRARIES>)
    add_dependencies(check-headers ${library}-check-headers)
  endif()
endfunction()
