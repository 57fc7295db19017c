// net/curl_handles.hpp -- libcurl's handles, each freed by its owner.
#pragma once

#include <curl/curl.h>

#include <memory>

namespace reeve::net {

struct free_easy {
  void operator()(CURL* x) const {
    curl_easy_cleanup(x);
  }
};

struct free_multi {
  void operator()(CURLM* x) const {
    curl_multi_cleanup(x);
  }
};

struct free_url {
  void operator()(CURLU* x) const {
    curl_url_cleanup(x);
  }
};

struct free_list {
  void operator()(curl_slist* x) const {
    curl_slist_free_all(x);
  }
};

using easy_ptr = std::unique_ptr<CURL, free_easy>;
using multi_ptr = std::unique_ptr<CURLM, free_multi>;
using url_ptr = std::unique_ptr<CURLU, free_url>;
using list_ptr = std::unique_ptr<curl_slist, free_list>;

} // namespace reeve::net
