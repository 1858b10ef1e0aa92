#include "pool/store/url.h"

#include <charconv>
#include <stdexcept>

namespace tributary::pool {
namespace {

constexpr bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string percent_encode(std::string_view text, bool keep_slash) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_plain(c) || (c == '/' && keep_slash)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

std::string percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned byte = 0;
    const char* const at = text.data() + i + 1;
    if (i + 2 >= text.size() || std::from_chars(at, at + 2, byte, 16).ptr != at + 2)
      throw std::invalid_argument("'%' without two hexadecimal digits");
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

StoreUrl parse_store_url(std::string_view url) {
  const auto fail = [url](const std::string& what) -> StoreUrl {
    throw std::invalid_argument("store '" + std::string(url) + "' " + what);
  };
  StoreUrl out;
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos) return fail("has no scheme; allowed: file, s3, webhdfs");
  out.scheme = url.substr(0, colon);
  std::string_view rest = url.substr(colon + 3);
  const std::size_t question = rest.find('?');
  std::string_view query = question == std::string_view::npos ? "" : rest.substr(question + 1);
  rest = rest.substr(0, question);
  const std::size_t slash = rest.find('/');
  try {
    out.host = rest.substr(0, slash);
    out.path = percent_decode(slash == std::string_view::npos ? "" : rest.substr(slash));
    while (!query.empty()) {
      const std::string_view part = query.substr(0, query.find('&'));
      query.remove_prefix(std::min(part.size() + 1, query.size()));
      const std::size_t equals = part.find('=');
      if (equals == std::string_view::npos) return fail("has a query without '='");
      out.query[std::string(part.substr(0, equals))] = percent_decode(part.substr(equals + 1));
    }
  } catch (const std::invalid_argument& error) {
    return fail(std::string("has ") + error.what());
  }
  return out;
}

}  // namespace tributary::pool
