// persistence/uuid.cpp -- UUIDv7 with a per-thread counter behind the clock.
#include "persistence/uuid.hpp"

#include <openssl/rand.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <stdexcept>

namespace reeve {

namespace {

constexpr size_t uuid_size = 36;

constexpr bool is_dash_position(size_t i) {
  return i == 8 || i == 13 || i == 18 || i == 23;
}

constexpr bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')
    || (c >= 'A' && c <= 'F');
}

// RFC 9562, section 6.2, method 1: the 12 bits after the version count up
// within a millisecond. They start in the lower half, which leaves room to
// count; the millisecond is borrowed from the future when it is used up, and
// is never taken back when the clock is.
struct monotonic_state {
  uint64_t millis = 0;
  uint16_t counter = 0;

  void advance(uint64_t now, uint16_t random) {
    if (now > millis) {
      millis = now;
      counter = random & 0x7ff;
    } else if (++counter > 0xfff) {
      ++millis;
      counter = random & 0x7ff;
    }
  }
};

// What an id takes of it is never used again. A call of libcrypto costs more
// than all the rest of an id, hence the stock.
class random_stock {
public:
  static constexpr size_t portion = 10;

  const uint8_t* take() {
    if (used_ == bytes_.size()) {
      if (RAND_bytes(bytes_.data(), static_cast<int>(bytes_.size())) != 1)
        throw std::runtime_error("the system has no randomness for ids");
      used_ = 0;
    }
    used_ += portion;
    return bytes_.data() + used_ - portion;
  }

private:
  std::array<uint8_t, 100 * portion> bytes_;
  size_t used_ = bytes_.size();
};

uint64_t unix_millis() {
  using namespace std::chrono;
  auto now = system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(duration_cast<milliseconds>(now).count());
}

std::string formatted(const std::array<uint8_t, 16>& bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  result.reserve(uuid_size);
  for (auto byte : bytes) {
    if (is_dash_position(result.size()))
      result += '-';
    result += digits[byte >> 4];
    result += digits[byte & 0xf];
  }
  return result;
}

} // namespace

std::string make_uuid() {
  thread_local monotonic_state state;
  thread_local random_stock stock;
  const auto* random = stock.take();
  state.advance(unix_millis(),
                static_cast<uint16_t>(random[0] << 8 | random[1]));
  std::array<uint8_t, 16> bytes;
  for (size_t i = 0; i < 6; ++i)
    bytes[i] = static_cast<uint8_t>(state.millis >> (40 - 8 * i));
  bytes[6] = static_cast<uint8_t>(0x70 | state.counter >> 8);
  bytes[7] = static_cast<uint8_t>(state.counter);
  bytes[8] = static_cast<uint8_t>(0x80 | (random[2] & 0x3f));
  for (size_t i = 9; i < bytes.size(); ++i)
    bytes[i] = random[i - 6];
  return formatted(bytes);
}

bool is_uuid(std::string_view text) {
  if (text.size() != uuid_size)
    return false;
  for (size_t i = 0; i < text.size(); ++i)
    if (is_dash_position(i) ? text[i] != '-' : !is_hex(text[i]))
      return false;
  return true;
}

} // namespace reeve
