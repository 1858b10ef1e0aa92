#include "pool/store/s3_store.h"

#include <algorithm>
#include <charconv>
#include <pugixml.hpp>
#include <set>
#include <string_view>

#include "core/utf8.h"
#include "pool/store/url.h"

namespace tributary::pool {
namespace {

constexpr std::size_t kMostPage = 16 << 20;
constexpr int kMostEmptyPages = 1000;  // in a row

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

// Document types and their entities are skipped, and texts stay as they are, blanks too.
S3Page parse_s3_page(const std::string& xml) {
  constexpr unsigned kText = pugi::parse_escapes | pugi::parse_cdata | pugi::parse_ws_pcdata;
  pugi::xml_document document;
  const bool whole = document.load_buffer(xml.data(), xml.size(), kText, pugi::encoding_utf8);
  const pugi::xml_node listing = document.child("ListBucketResult");
  if (!listing) throw StoreError(StoreFault::refused, "the answer to a listing is none of S3");
  if (!whole) throw StoreError(StoreFault::incomplete, "a listing ends early");
  S3Page page;
  // XML has no characters such as CR; servers that do not know the encoding leave this element out.
  const bool encoded = listing.child_value("EncodingType") == std::string_view("url");
  for (const pugi::xml_node contents : listing.children("Contents")) {
    StoreObject object;
    object.name = contents.child_value("Key");
    const std::string_view size = contents.child_value("Size");
    const auto [at, error] = std::from_chars(size.data(), size.data() + size.size(), object.bytes);
    if (!contents.child("Key") || error != std::errc() || at != size.data() + size.size())
      throw StoreError(StoreFault::refused, "a listing has an object without key or size");
    if (encoded) object.name = decode_key(std::move(object.name));
    if (!is_utf8(object.name))
      throw StoreError(
          StoreFault::refused,
          "a listing has the key '" + replace_invalid_utf8(object.name) + "', which is not UTF-8");
    if (!contents.child("ETag"))
      throw StoreError(StoreFault::refused,
                       object.name + ": a listing has no ETag of it, so its version is unknown");
    object.version = version_of(without_quotes(contents.child_value("ETag")));
    page.objects.push_back(std::move(object));
  }
  page.next = listing.child_value("NextContinuationToken");
  if (listing.child_value("IsTruncated") == std::string_view("true") && page.next.empty())
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
  std::set<std::string> tokens;
  int empty_pages = 0;
  ListingCount count(options_.listing);
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
      count.add_entry(options_.bucket);
      if (!object.name.starts_with(prefix)) continue;
      if (object.name.ends_with('/')) {  // a folder's marker, which is empty
        if (object.bytes != 0) left_out_.add(object.name, "is a folder by its name, and has data");
        continue;
      }
      object.name.erase(0, prefix.size());
      out.push_back(std::move(object));
    }
    empty_pages = page.objects.empty() ? empty_pages + 1 : 0;
    if (!tokens.insert(page.next).second || empty_pages == kMostEmptyPages)
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
