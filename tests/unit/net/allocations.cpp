// tests/unit/net/allocations.cpp -- how much memory a piece of code asks for.
// In a file of its own: the compiler must not see both new and delete.
#include "tests/unit/net/allocations.hpp"

#include <cstdlib>
#include <new>

namespace reeve::net::test {

size_t& allocated() {
  thread_local size_t result = 0;
  return result;
}

} // namespace reeve::net::test

void* operator new(size_t n, const std::nothrow_t&) noexcept {
  reeve::net::test::allocated() += n;
  return std::malloc(n == 0 ? 1 : n);
}

void* operator new(size_t n) {
  if (auto* result = operator new(n, std::nothrow))
    return result;
  throw std::bad_alloc{};
}

void operator delete(void* x) noexcept {
  std::free(x);
}

void operator delete(void* x, size_t) noexcept {
  std::free(x);
}
