// Opens the store of an address.
#include <cstdlib>
#include <stdexcept>

#include "pool/store/file_store.h"
#include "pool/store/s3_store.h"
#include "pool/store/url.h"
#include "pool/store/webhdfs_store.h"

namespace tributary::pool {
namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets it
  return value == nullptr ? "" : value;
}

// Returns the value and removes the key: keys that remain in the end are unknown.
std::string take(StoreUrl& url, const char* key, const std::string& fallback) {
  const auto found = url.query.find(key);
  if (found == url.query.end()) return fallback;
  std::string value = found->second;
  url.query.erase(found);
  return value;
}

std::string trimmed(std::string path, bool front) {
  while (!path.empty() && path.back() == '/') path.pop_back();
  while (front && !path.empty() && path.front() == '/') path.erase(0, 1);
  return path;
}

std::unique_ptr<Store> open_s3(StoreUrl& url, const StoreTimeouts& timeouts) {
  S3Options options;
  options.bucket = url.host;
  options.prefix = trimmed(url.path, true);
  options.endpoint = trimmed(take(url, "endpoint", options.endpoint), false);
  options.region = take(url, "region", options.region);
  options.key = environment("AWS_ACCESS_KEY_ID");
  options.secret = environment("AWS_SECRET_ACCESS_KEY");
  options.session_token = environment("AWS_SESSION_TOKEN");
  if (options.bucket.empty()) throw std::invalid_argument("store 's3://' names no bucket");
  if (!options.endpoint.starts_with("http://") && !options.endpoint.starts_with("https://"))
    throw std::invalid_argument("endpoint '" + options.endpoint +
                                "' is no address; allowed: http://HOST[:PORT], https://...");
  if (options.key.empty() != options.secret.empty())
    throw std::invalid_argument(
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: one is set, the other "
        "is not; allowed: both or neither");
  return std::make_unique<S3Store>(std::move(options), timeouts);
}

}  // namespace

const char* name_of(StoreFault fault) {
  switch (fault) {
    case StoreFault::not_found: return "not-found";
    case StoreFault::denied: return "denied";
    case StoreFault::changed: return "changed";
    case StoreFault::refused: return "refused";
    case StoreFault::unavailable: return "unavailable";
    case StoreFault::timeout: return "timeout";
    case StoreFault::incomplete: return "incomplete";
  }
  return "unknown";
}

std::uint64_t version_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash == 0 ? 1 : hash;
}

std::unique_ptr<Store> open_store(const std::string& text, const StoreTimeouts& timeouts) {
  StoreUrl url = parse_store_url(text);
  std::unique_ptr<Store> store;
  if (url.scheme == "file") {
    if (!url.host.empty())
      throw std::invalid_argument("store '" + text + "' names a host; allowed: file:///DIRECTORY");
    store = std::make_unique<FileStore>(url.path);
  } else if (url.scheme == "s3") {
    store = open_s3(url, timeouts);
  } else if (url.scheme == "webhdfs" || url.scheme == "swebhdfs") {
    WebHdfsOptions options;
    options.server = url.host;
    options.directory = trimmed(url.path, false);
    options.user = take(url, "user", "");
    options.scheme = url.scheme == "webhdfs" ? "http" : "https";
    if (options.server.empty()) throw std::invalid_argument("store '" + text + "' names no host");
    store = std::make_unique<WebHdfsStore>(std::move(options), timeouts);
  } else {
    throw std::invalid_argument("store '" + text + "' has scheme '" + url.scheme +
                                "'; allowed: file, s3, webhdfs, swebhdfs");
  }
  if (!url.query.empty())
    throw std::invalid_argument("store '" + text + "' has a key '" + url.query.begin()->first +
                                "' that means nothing there");
  return store;
}

}  // namespace tributary::pool
