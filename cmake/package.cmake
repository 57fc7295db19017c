# What `cmake --install` puts where, and the Debian package: `cpack -G DEB`, or
# the target `package`, in a release build. scripts/package builds and tests it.
include(GNUInstallDirs)

# The manual and the completions are the program's own words.
set(reeve_made "${PROJECT_BINARY_DIR}/made")
set(reeve_words)
foreach(what IN ITEMS "reeve.1=manual" "reeve.bash=completion bash"
                      "_reeve=completion zsh" "reeve.fish=completion fish")
  string(REGEX MATCH "^([^=]+)=(.*)$" _ "${what}")
  set(file "${reeve_made}/${CMAKE_MATCH_1}")
  add_custom_command(OUTPUT "${file}"
    COMMAND sh -c "\"$1\" ${CMAKE_MATCH_2} >\"$2\"" sh $<TARGET_FILE:reeve>
            "${file}"
    DEPENDS reeve VERBATIM)
  list(APPEND reeve_words "${file}")
endforeach()
add_custom_command(OUTPUT "${reeve_made}/reeve.1.gz"
  COMMAND gzip -9nc "${reeve_made}/reeve.1" > "${reeve_made}/reeve.1.gz"
  DEPENDS "${reeve_made}/reeve.1" VERBATIM)
file(MAKE_DIRECTORY "${reeve_made}")
add_custom_target(reeve-words ALL
  DEPENDS ${reeve_words} "${reeve_made}/reeve.1.gz")

# What the program contains of others asks that its licence goes with it: the
# libraries that are linked statically, and what the dashboard bundles.
set(licences "")
foreach(what IN ITEMS "actor-framework;libcaf-dev" "libpqxx;libpqxx-dev"
                      "libsqlitecpp-dev" "libcli11-dev" "nlohmann-json3-dev")
  list(TRANSFORM what APPEND "/copyright" OUTPUT_VARIABLE names)
  unset(licence)
  find_file(licence NAMES ${names} NO_CACHE NO_DEFAULT_PATH
            PATHS "${REEVE_PREFIX}/share/doc" /usr/share/doc)
  if(NOT licence)
    message(WARNING "The licence of ${what} is not here, and will not be "
                    "installed: scripts/setup gets it")
    continue()
  endif()
  file(READ "${licence}" text)
  list(GET what 0 name)
  string(APPEND licences "==== ${name}\n\n${text}\n")
endforeach()
if(REEVE_HAS_NPM)
  string(APPEND licences "==== the dashboard\n\n")
endif()
file(CONFIGURE OUTPUT "${reeve_made}/linked-licenses.txt" CONTENT "@licences@"
     @ONLY)
set(reeve_licences "${reeve_made}/third-party-licenses.txt")
set(bundled "")
if(REEVE_HAS_NPM)
  set(bundled "${PROJECT_BINARY_DIR}/web/assets/third-party-licenses-*.txt")
endif()
add_custom_command(OUTPUT "${reeve_licences}"
  COMMAND sh -c "cat \"$1\" $3 >\"$2\"" sh "${reeve_made}/linked-licenses.txt"
          "${reeve_licences}" "${bundled}"
  DEPENDS reeve "${reeve_made}/linked-licenses.txt" VERBATIM)
add_custom_target(reeve-licences ALL DEPENDS "${reeve_licences}")

install(TARGETS reeve RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES "${reeve_made}/reeve.1.gz"
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES "${reeve_made}/reeve.bash" RENAME reeve
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES "${reeve_made}/_reeve"
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES "${reeve_made}/reeve.fish"
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
# README.md and docs/ link to all of these.
file(CREATE_LINK ../../reeve "${reeve_made}/ops" SYMBOLIC)
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE "${reeve_licences}"
              "${reeve_made}/ops"
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES config/reeve.conf DESTINATION ${CMAKE_INSTALL_DOCDIR}/config)
install(FILES packaging/reeve.service
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/packaging)
# Grafana's dashboard and Prometheus' rules.
install(DIRECTORY ops/ DESTINATION ${CMAKE_INSTALL_DATADIR}/reeve
        PATTERN "*.test.yml" EXCLUDE)

# -- the service: only in the package -------------------------------------------
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The Reeve authors <reeve@packages.invalid>")

file(READ config/reeve.conf reeve_conf)
set(reeve_database "database.url = \"sqlite:./reeve.db\"")
string(FIND "${reeve_conf}" "${reeve_database}" found)
if(found EQUAL -1)
  message(FATAL_ERROR "config/reeve.conf has no line ${reeve_database}")
endif()
string(REPLACE "${reeve_database}"
       "database.url = \"sqlite:/var/lib/reeve/reeve.db\"" reeve_conf
       "${reeve_conf}")
string(REPLACE "--config-file=config/reeve.conf"
       "--config-file=/etc/reeve/reeve.conf" reeve_conf "${reeve_conf}")
file(CONFIGURE OUTPUT "${reeve_made}/reeve.conf" CONTENT "${reeve_conf}"
     @ONLY)
file(READ LICENSE REEVE_LICENSE)
string(REGEX REPLACE "\n$" "" REEVE_LICENSE "${REEVE_LICENSE}")
string(REGEX REPLACE "\n\n" "\n.\n" REEVE_LICENSE "${REEVE_LICENSE}")
string(REGEX REPLACE "\n" "\n " REEVE_LICENSE " ${REEVE_LICENSE}")
configure_file(packaging/debian/copyright.in "${reeve_made}/copyright" @ONLY)
configure_file(packaging/debian/changelog.in "${reeve_made}/changelog" @ONLY)
add_custom_command(OUTPUT "${reeve_made}/changelog.gz"
  COMMAND gzip -9nc "${reeve_made}/changelog" > "${reeve_made}/changelog.gz"
  DEPENDS "${reeve_made}/changelog" VERBATIM)
add_custom_target(reeve-changelog ALL DEPENDS "${reeve_made}/changelog.gz")

set(service COMPONENT service EXCLUDE_FROM_ALL)
install(FILES "${reeve_made}/reeve.conf" DESTINATION /etc/reeve ${service})
install(FILES packaging/default RENAME reeve DESTINATION /etc/default
        ${service})
install(FILES packaging/reeve.service DESTINATION lib/systemd/system ${service})
install(FILES "${reeve_made}/copyright" "${reeve_made}/changelog.gz"
        DESTINATION share/doc/reeve ${service})

# -- CPack ----------------------------------------------------------------------
set(CPACK_GENERATOR DEB)
set(CPACK_INSTALL_CMAKE_PROJECTS
    "${PROJECT_BINARY_DIR};reeve;ALL;/;${PROJECT_BINARY_DIR};reeve;service;/")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "durable background-job runtime
One node takes work over HTTP, answers at once, and runs it behind an actor
supervision tree: retries by whose fault it was, progress, recovery after a
crash, and live inspection. PostgreSQL or SQLite is the only other part.
.
Made for slow, expensive, failure-prone work such as calls of AI providers.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# dpkg-shlibdeps does not see what is loaded on the first call.
set(reeve_depends adduser "init-system-helpers (>= 1.54)")
foreach(library IN ITEMS "${reeve_curl_path}" "${PostgreSQL_LIBRARY_RELEASE}")
  file(REAL_PATH "${library}" real)
  cmake_path(GET real FILENAME name)
  execute_process(COMMAND dpkg-query -S "*/${name}" OUTPUT_VARIABLE owner
                  ERROR_QUIET)
  if(owner MATCHES "^([^:,\n]+)")
    list(APPEND reeve_depends "${CMAKE_MATCH_1}")
  endif()
endforeach()
list(JOIN reeve_depends ", " CPACK_DEBIAN_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "postgresql, prometheus")
set(debian "${PROJECT_SOURCE_DIR}/packaging/debian")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    "${debian}/postinst;${debian}/prerm;${debian}/postrm;${debian}/conffiles")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
