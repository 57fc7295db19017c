// tests/unit/net/base64.test.cpp -- what is base64, and what is nearly.
#define CAF_SUITE net.base64

#include "net/base64.hpp"

#include <caf/test/dsl.hpp>

using namespace reeve::net;
using namespace std::literals;

CAF_TEST(the examples of the RFC) {
  for (auto [text, bytes] : {
         std::pair{"", ""},
         {"Zg==", "f"},
         {"Zm8=", "fo"},
         {"Zm9v", "foo"},
         {"Zm9vYg==", "foob"},
         {"Zm9vYmE=", "fooba"},
         {"Zm9vYmFy", "foobar"},
       })
    CAF_CHECK_EQUAL(base64_decoded(text).value_or("none"), bytes);
}

CAF_TEST(all digits and all bytes) {
  CAF_CHECK_EQUAL(base64_decoded("AP+/vw==").value_or(""), "\x00\xff\xbf\xbf"s);
  CAF_CHECK_EQUAL(base64_decoded("++//").value_or(""), "\xfb\xef\xff");
}

CAF_TEST(anything else is refused) {
  for (const auto& text :
       {"Z"s, "Zg"s, "Zg="s, "Zg==="s, "="s, "=="s, "===="s, "Z==="s, "=Zg="s,
        "Zg=a"s, "Zm9v\n"s, " Zm9"s, "Zm9vZg=="s + "Zg==", "Zm_-"s, "Zm9%"s,
        "Zm9\xff"s, "Zm9\0"s,
        "Zh=="s, // bits behind the last byte
        "Zm9="s})
    CAF_CHECK(!base64_decoded(text));
}
