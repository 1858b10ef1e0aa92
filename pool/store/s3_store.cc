#include "pool/store/s3_store.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "pool/store/url.h"

namespace tributary::pool {
namespace {

constexpr std::size_t kMostPage = 16 << 20;

// Finds the text between <name> and </name> from `from` on, and moves `from` behind it. Returns
// false if there is none before `end`.
bool element(const std::string& xml, const char* name, std::size_t& from, std::size_t end,
             std::string& out) {
  std::string open("<");
  open.append(name).append(">");
  std::string close("</");
  close.append(name).append(">");
  const std::size_t start = xml.find(open, from);
  if (start == std::string::npos || start >= end) return false;
  const std::size_t stop = xml.find(close, start);
  if (stop == std::string::npos || stop > end) return false;
  out = xml.substr(start + open.size(), stop - start - open.size());
  from = stop + close.size();
  return true;
}

// The UTF-8 of a code point.
std::string utf8(std::uint32_t c) {
  const auto byte = [](std::uint32_t bits) { return static_cast<char>(bits); };
  const auto tail = [&](int shift) { return byte(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xC0 | c >> 6), tail(0)};
  if (c < 0x10000) return {byte(0xE0 | c >> 12), tail(6), tail(0)};
  return {byte(0xF0 | c >> 18), tail(12), tail(6), tail(0)};
}

// The character for "&NAME;", by name or by number ("#39", "#x27"); nullopt if there is none.
std::optional<std::string> character(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}};
  for (const auto& [known, text] : kNames)
    if (name == known) return std::string(text);
  if (!name.starts_with('#')) return std::nullopt;
  name.remove_prefix(1);
  const bool hexadecimal = name.starts_with('x');
  if (hexadecimal) name.remove_prefix(1);
  std::uint32_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data(), end, number, hexadecimal ? 16 : 10);
  constexpr std::uint32_t kLastCharacter = 0x10FFFF;
  if (error != std::errc{} || at != end || number > kLastCharacter) return std::nullopt;
  return utf8(number);
}

std::string unescape(std::string_view text) {
  constexpr std::size_t kLongest = 10;  // "&#x10FFFF;"
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.front() == '&' ? text.substr(0, kLongest).find(';') : 0;
    const auto found = end == 0 || end == std::string_view::npos
                           ? std::nullopt
                           : character(text.substr(1, end - 1));
    out += found ? *found : std::string(1, text.front());
    text.remove_prefix(found ? end + 1 : 1);
  }
  return out;
}

std::string without_quotes(const std::string& text) {
  return text.size() >= 2 && text.front() == '"' && text.back() == '"'
             ? text.substr(1, text.size() - 2)
             : text;
}

// A key of a listing with encoding-type=url, where '+' is a space.
std::string decode_key(std::string text) {
  std::replace(text.begin(), text.end(), '+', ' ');
  try {
    return percent_decode(text);
  } catch (const std::invalid_argument& error) {
    throw StoreError(StoreFault::refused, "a listing has the key '" + text + "': " + error.what());
  }
}

// A client that was too slow, or a connection that was: the status is 400.
bool is_request_timeout(long status, const std::string& body) {
  return status == 400 && body.find("<Code>RequestTimeout</Code>") != std::string::npos;
}

}  // namespace

S3Page parse_s3_page(const std::string& xml) {
  if (xml.find("<ListBucketResult") == std::string::npos)
    throw StoreError(StoreFault::refused, "the answer to a listing is none of S3");
  if (xml.find("</ListBucketResult>") == std::string::npos)
    throw StoreError(StoreFault::incomplete, "a listing ends early");
  S3Page page;
  // XML has no characters such as CR; servers that do not know the encoding leave this element out.
  std::string encoding;
  std::size_t encoding_at = 0;
  element(xml, "EncodingType", encoding_at, xml.size(), encoding);
  std::size_t at = 0;
  std::string contents;
  while (element(xml, "Contents", at, xml.size(), contents)) {
    StoreObject object;
    std::string size;
    std::string etag;
    std::size_t key_at = 0;
    std::size_t size_at = 0;
    std::size_t etag_at = 0;
    if (!element(contents, "Key", key_at, contents.size(), object.name) ||
        !element(contents, "Size", size_at, contents.size(), size) ||
        std::from_chars(size.data(), size.data() + size.size(), object.bytes).ptr !=
            size.data() + size.size())
      throw StoreError(StoreFault::refused, "a listing has an object without key or size");
    object.name = unescape(object.name);
    if (encoding == "url") object.name = decode_key(std::move(object.name));
    if (!element(contents, "ETag", etag_at, contents.size(), etag))
      throw StoreError(StoreFault::refused,
                       object.name + ": a listing has no ETag of it, so its version is unknown");
    object.version = version_of(without_quotes(unescape(etag)));
    page.objects.push_back(std::move(object));
  }
  std::size_t token_at = 0;
  element(xml, "NextContinuationToken", token_at, xml.size(), page.next);
  page.next = unescape(page.next);
  std::string truncated;
  std::size_t truncated_at = 0;
  if (element(xml, "IsTruncated", truncated_at, xml.size(), truncated) && truncated == "true" &&
      page.next.empty())
    throw StoreError(StoreFault::refused, "a listing goes on, but does not say where");
  return page;
}

S3Store::S3Store(S3Options options, const StoreTimeouts& timeouts)
    : options_(std::move(options)), timeouts_(timeouts), http_(timeouts) {}

HttpRequest S3Store::request(const std::string& path_and_query) const {
  HttpRequest request;
  request.url = options_.endpoint + "/" + options_.bucket + path_and_query;
  request.passes = &is_request_timeout;
  if (options_.key.empty()) return request;
  request.credentials = options_.key + ":" + options_.secret;
  request.signature_scope = "aws:amz:" + options_.region + ":s3";
  const std::size_t scheme = options_.endpoint.find("://");
  // libcurl 7.88 signs the host without its port unless the header is given.
  request.headers = {
      "Host: " + options_.endpoint.substr(scheme == std::string::npos ? 0 : scheme + 3),
      "x-amz-content-sha256: UNSIGNED-PAYLOAD"};
  if (!options_.session_token.empty())
    request.headers.push_back("x-amz-security-token: " + options_.session_token);
  return request;
}

std::vector<StoreObject> S3Store::list(const Retry& retry) {
  const std::string prefix = options_.prefix.empty() ? "" : options_.prefix + "/";
  std::vector<StoreObject> out;
  left_out_ = {};
  std::string token;
  do {
    // Sorted by name, as the signature requires.
    std::string query = "?";
    if (!token.empty()) query += "continuation-token=" + percent_encode(token, false) + "&";
    query += "encoding-type=url&list-type=2";
    if (!prefix.empty()) query += "&prefix=" + percent_encode(prefix, false);
    S3Page page = retry.run(options_.bucket, version_of(query), [&] {
      return parse_s3_page(http_.get_text(request(query), kMostPage).body);
    });
    for (StoreObject& object : page.objects) {
      if (!object.name.starts_with(prefix)) continue;
      if (object.name.ends_with('/')) {  // a folder's marker, which is empty
        if (object.bytes != 0) left_out_.add(object.name, "is a folder by its name, and has data");
        continue;
      }
      object.name.erase(0, prefix.size());
      out.push_back(std::move(object));
    }
    if (page.next == token && !token.empty())
      throw StoreError(StoreFault::refused, options_.bucket + ": its listing does not end");
    token = page.next;
  } while (!token.empty());
  std::sort(out.begin(), out.end(),
            [](const StoreObject& a, const StoreObject& b) { return a.name < b.name; });
  return out;
}

void S3Store::read(const StoreObject& object, std::uint64_t offset, std::span<std::byte> out) {
  if (out.empty() && object.bytes != 0) return;
  const std::string name =
      options_.prefix.empty() ? object.name : options_.prefix + "/" + object.name;
  const HttpRequest asked = request(std::string("/").append(percent_encode(name, true)));
  const HttpAnswer answer = http_.get_range(asked, {offset, out, object.bytes});
  // The manifest has no text of an ETag, so If-Match cannot be sent: the answer's is compared.
  if (answer.etag.empty() || object.version == 0)
    throw StoreError(StoreFault::refused,
                     asked.url + ": " +
                         (answer.etag.empty() ? "the answer" : "the manifest's object") +
                         " has no ETag, so its version cannot be proven");
  if (version_of(without_quotes(answer.etag)) != object.version)
    throw StoreError(StoreFault::changed, asked.url + ": has ETag " + answer.etag +
                                              " and is another object than the manifest's; make "
                                              "the manifest again");
}

std::unique_ptr<Store> S3Store::clone() const {
  return std::make_unique<S3Store>(options_, timeouts_);
}

}  // namespace tributary::pool
