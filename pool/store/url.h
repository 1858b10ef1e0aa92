// Addresses of stores, taken apart; and the escapes that URLs need.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tributary::pool {

struct StoreUrl {
  std::string scheme;
  std::string host;  // with its port; of s3 the bucket
  std::string path;  // begins with '/', or is empty; escapes resolved
  std::map<std::string, std::string> query;
};

// Throws std::invalid_argument that says what is wrong with it.
StoreUrl parse_store_url(std::string_view url);

// All but letters, digits, "-._~", and '/' where `keep_slash`.
std::string percent_encode(std::string_view text, bool keep_slash);
// Throws std::invalid_argument for a '%' without two hexadecimal digits.
std::string percent_decode(std::string_view text);

}  // namespace tributary::pool
