reeve_test(reeve-config-tests reeve_config
  unit/config/log.test.cpp
  unit/config/options.test.cpp
  support/main.cpp)
