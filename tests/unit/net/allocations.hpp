// tests/unit/net/allocations.hpp -- how much memory a piece of code asks for.
#pragma once

#include <cstddef>

namespace reeve::net::test {

/// Bytes that this thread asked `operator new` for since it was set to zero.
size_t& allocated();

} // namespace reeve::net::test
