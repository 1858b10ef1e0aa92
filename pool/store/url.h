// Parses addresses of stores, and converts the escapes of URLs.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tributary::pool {

struct StoreUrl {
  std::string scheme;
  std::string host;  // with its port; for s3 the bucket
  std::string path;  // begins with '/', or is empty; escapes resolved
  std::map<std::string, std::string> query;
};

// Throws std::invalid_argument with the mistake.
StoreUrl parse_store_url(std::string_view url);

// Encodes all but letters, digits, "-._~", and '/' if `keep_slash`.
std::string percent_encode(std::string_view text, bool keep_slash);
// Throws std::invalid_argument for a '%' without two hexadecimal digits.
std::string percent_decode(std::string_view text);

}  // namespace tributary::pool
