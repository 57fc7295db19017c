reeve_test(net-test reeve_net
  unit/net/address.test.cpp
  unit/net/allocations.cpp
  unit/net/base64.test.cpp
  unit/net/client.test.cpp
  unit/net/client_stream.test.cpp
  unit/net/connection.test.cpp
  unit/net/connection_life.test.cpp
  unit/net/event_stream.test.cpp
  unit/net/json.test.cpp
  unit/net/json_writer.test.cpp
  unit/net/loopback_server.cpp
  unit/net/problem.test.cpp
  unit/net/router.test.cpp
  unit/net/sse.test.cpp
  support/main.cpp)
