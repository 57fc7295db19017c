# e2e/NAME.py: a CTest entry e2e.NAME each, on the real binary. They need
# Debian's own Python, whose packages scripts/setup installs; PostgreSQL is
# theirs to start and stop.
find_program(REEVE_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)

function(reeve_e2e_test name timeout)
  add_test(NAME e2e.${name}
    COMMAND ${REEVE_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/${name}.py)
  set_tests_properties(e2e.${name} PROPERTIES
    TIMEOUT ${timeout}
    LABELS e2e
    ENVIRONMENT "REEVE_BIN=$<TARGET_FILE:reeve>;PYTHONDONTWRITEBYTECODE=1"
    ${ARGN})
endfunction()

reeve_e2e_test(api_jobs 300)
reeve_e2e_test(api_job_changes 300)
reeve_e2e_test(api_scraps 300)
reeve_e2e_test(api_events 300)
# Deadlines of some tenths of a second need a machine to themselves.
reeve_e2e_test(api_http 300 RUN_SERIAL ON)
reeve_e2e_test(api_origins 300)
reeve_e2e_test(api_operations 300)
reeve_e2e_test(api_stats 300)
reeve_e2e_test(api_auth 300)
reeve_e2e_test(config_cli 300)
reeve_e2e_test(accounts 300)
reeve_e2e_test(commands 300)
reeve_e2e_test(terminals 300)
reeve_e2e_test(deployment 300)
reeve_e2e_test(books 300)
reeve_e2e_test(san 300)
reeve_e2e_test(failures 300)
reeve_e2e_test(usage 300)
reeve_e2e_test(own_types 300)
reeve_e2e_test(traces 300)
# Needs Debian's prometheus.
reeve_e2e_test(metrics 300)
reeve_e2e_test(openapi 600)
reeve_e2e_test(documents 600)

reeve_e2e_test(recovery 600)
reeve_e2e_test(nodes 600)
reeve_e2e_test(outage 600 RUN_SERIAL ON)
reeve_e2e_test(provider_outage 300 RUN_SERIAL ON)
reeve_e2e_test(recall_outage 300 RUN_SERIAL ON)
reeve_e2e_test(killed_server 300)
reeve_e2e_test(steps_kill 600)
reeve_e2e_test(ledger_crashes 600)
reeve_e2e_test(drain 300 RUN_SERIAL ON)
reeve_e2e_test(supervision 300)
reeve_e2e_test(actors 300)
reeve_e2e_test(ai_server_contract 120)
reeve_e2e_test(analysis_server 300)
# Needs Debian's chromium, chromium-driver and python3-selenium.
reeve_e2e_test(watch_page 300)

# The dashboard: its own tests, and e2e/dashboard/NAME.test.mjs in Debian's
# chromium, on the real binary.
function(reeve_web_test name timeout)
  if(REEVE_HAS_NPM)
    add_test(NAME ${name} COMMAND ${ARGN})
    set_tests_properties(${name} PROPERTIES
      TIMEOUT ${timeout}
      ENVIRONMENT "REEVE_BIN=$<TARGET_FILE:reeve>")
  else()
    add_test(NAME ${name} COMMAND sh -c
      "echo 'Skipped: the dashboard takes npm (apt-get install npm)'; exit 77")
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()

reeve_web_test(web.types 120
  ${REEVE_NODE} ${PROJECT_SOURCE_DIR}/web/node_modules/typescript/bin/tsc
  --noEmit --project ${PROJECT_SOURCE_DIR}/web)
reeve_web_test(web.unit 120 ${REEVE_NODE} ${PROJECT_SOURCE_DIR}/web/test/run.mjs)
foreach(name IN ITEMS actions actors keys lists scale views)
  reeve_web_test(e2e.dashboard_${name} 600
    ${REEVE_NODE} --test
    ${CMAKE_CURRENT_SOURCE_DIR}/e2e/dashboard/${name}.test.mjs)
  set_tests_properties(e2e.dashboard_${name} PROPERTIES LABELS e2e)
endforeach()
