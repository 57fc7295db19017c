// bench/client/main.cpp -- the clients of a node under measurement, in one
// process that costs little itself.
//
//   reeve-bench-client MEASURE --port=PORT [--name=value ...]
//
// Prints one JSON object; see measures.hpp.
#include "bench/client/measures.hpp"

#include <sys/resource.h>

#include <exception>
#include <iostream>
#include <map>

int main(int argc, char** argv) {
  using namespace reeve::bench;
  const std::map<std::string, nlohmann::json (*)(const arguments&)> measures{
    {"post", post},
    {"bulk", bulk},
    {"idle", idle},
    {"steady", steady},
    {"watch", watch}};
  auto chosen = measures.find(argc > 1 ? argv[1] : "");
  if (chosen == measures.end()) {
    std::cerr << "usage: reeve-bench-client post|bulk|idle|steady|watch "
                 "--port=PORT [--name=value ...]\n";
    return 2;
  }
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  try {
    std::cout << chosen->second(arguments{argc - 2, argv + 2}) << std::endl;
    return 0;
  } catch (const std::exception& err) {
    std::cerr << "reeve-bench-client: " << err.what() << '\n';
    return 1;
  }
}
