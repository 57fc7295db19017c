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

reeve_e2e_test(recovery 600)
reeve_e2e_test(nodes 600)
reeve_e2e_test(outage 600 RUN_SERIAL ON)
reeve_e2e_test(provider_outage 300 RUN_SERIAL ON)
reeve_e2e_test(recall_outage 300 RUN_SERIAL ON)
reeve_e2e_test(steps_kill 600)
reeve_e2e_test(ledger_crashes 600)
reeve_e2e_test(drain 300 RUN_SERIAL ON)
reeve_e2e_test(supervision 300)
reeve_e2e_test(actors 300)
reeve_e2e_test(ai_server_contract 120)
reeve_e2e_test(analysis_server 300)
# Needs Debian's chromium, chromium-driver and python3-selenium.
reeve_e2e_test(watch_page 300)
