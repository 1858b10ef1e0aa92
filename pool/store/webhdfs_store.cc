#include "pool/store/webhdfs_store.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pool/store/url.h"

namespace tributary::pool {
namespace {

using nlohmann::json;

constexpr std::size_t kMostListing = 64 << 20;
constexpr int kMostDepth = 32;

json parse(const std::string& text, const std::string& url) {
  json parsed = json::parse(text, nullptr, false);
  if (parsed.is_discarded())
    throw StoreError(StoreFault::incomplete, url + ": the answer is no whole JSON");
  if (!parsed.is_object()) throw StoreError(StoreFault::refused, url + ": the answer is no JSON");
  return parsed;
}

// Numbers below zero and fractions would become other ones.
StoreObject object_of(const json& status, const std::string& url) {
  const auto number = [&](const char* key) {
    const auto found = status.find(key);
    if (found == status.end() || !found->is_number_unsigned())
      throw StoreError(StoreFault::refused, url + ": a file without length or time");
    return found->get<std::uint64_t>();
  };
  StoreObject object;
  object.bytes = number("length");
  object.version = std::max<std::uint64_t>(number("modificationTime"), 1);
  return object;
}

std::string text_of(const json& status, const char* key, const std::string& url) {
  try {
    return status.at(key).get<std::string>();
  } catch (const json::exception&) {
    throw StoreError(StoreFault::refused, url + ": a file status without " + key);
  }
}

// A name node that is not the active one, or is in safe mode, says so in a 403.
bool is_not_active(long, const std::string& body) {
  const json parsed = json::parse(body, nullptr, false);
  if (!parsed.is_object()) return false;
  const auto about = parsed.find("RemoteException");
  if (about == parsed.end() || !about->is_object()) return false;
  const auto name = about->find("exception");
  return name != about->end() && (*name == "StandbyException" || *name == "RetriableException");
}

// A name node's names and a manifest's are untrusted. libcurl would resolve these parts of a path.
bool leaves_folder(const std::string& name) {
  const std::string padded = '/' + name + '/';
  return padded.find("/../") != std::string::npos || padded.find("/./") != std::string::npos;
}

}  // namespace

WebHdfsStore::WebHdfsStore(WebHdfsOptions options, const StoreTimeouts& timeouts)
    : options_(std::move(options)), timeouts_(timeouts), http_(timeouts) {}

HttpRequest WebHdfsStore::request(const std::string& path, const std::string& query) const {
  HttpRequest request;
  request.url = options_.scheme + "://" + options_.server + "/webhdfs/v1" +
                percent_encode(options_.directory + path, true) + "?" + query;
  if (!options_.user.empty()) request.url += "&user.name=" + percent_encode(options_.user, false);
  request.follow_redirects = true;
  request.passes = &is_not_active;
  request.range_way = RangeWay::url;
  return request;
}

void WebHdfsStore::list_directory(Listing& listing, const std::string& below, int depth) {
  const HttpRequest asked = request(below.empty() ? "" : "/" + below, "op=LISTSTATUS");
  if (depth > kMostDepth) throw StoreError(StoreFault::refused, asked.url + ": folders too deep");
  listing.count.add_folder(asked.url);
  const json answer = listing.retry.run(asked.url, version_of(asked.url), [&] {
    return parse(http_.get_text(asked, kMostListing).body, asked.url);
  });
  const json* list = nullptr;
  if (const auto all = answer.find("FileStatuses"); all != answer.end() && all->is_object())
    if (const auto found = all->find("FileStatus"); found != all->end()) list = &*found;
  if (list == nullptr || !list->is_array())
    throw StoreError(StoreFault::refused, asked.url + ": the answer is no listing");
  for (const json& status : *list) {
    listing.count.add_entry(asked.url);
    const std::string suffix = text_of(status, "pathSuffix", asked.url);
    const std::string name = below.empty() ? suffix : below + "/" + suffix;
    const std::string type = text_of(status, "type", asked.url);
    if (leaves_folder(suffix) || suffix.find('/') != std::string::npos) {
      left_out_.add(name, "is no name in a folder");
      continue;
    }
    if (type == "DIRECTORY") {
      if (!suffix.empty()) list_directory(listing, name, depth + 1);
    } else if (type != "FILE") {
      left_out_.add(name, "is neither a file nor a folder, but " + type);
    } else {
      StoreObject object = object_of(status, asked.url);
      object.name = name;
      listing.found.push_back(std::move(object));
    }
  }
}

std::vector<StoreObject> WebHdfsStore::list(const Retry& retry) {
  Listing listing{retry, ListingCount(options_.listing), {}};
  left_out_ = {};
  list_directory(listing, "", 0);
  std::sort(listing.found.begin(), listing.found.end(),
            [](const StoreObject& a, const StoreObject& b) { return a.name < b.name; });
  return std::move(listing.found);
}

void WebHdfsStore::check_version(const StoreObject& object) {
  const HttpRequest asked = request("/" + object.name, "op=GETFILESTATUS");
  const json answer = parse(http_.get_text(asked, 1 << 20).body, asked.url);
  const auto status = answer.find("FileStatus");
  if (status == answer.end() || !status->is_object())
    throw StoreError(StoreFault::refused, asked.url + ": the answer is no file status");
  const StoreObject now = object_of(*status, asked.url);
  if (now.bytes != object.bytes || now.version != object.version)
    throw StoreError(StoreFault::changed,
                     asked.url + ": is another file than the manifest's: has " +
                         std::to_string(now.bytes) + " bytes of time " +
                         std::to_string(now.version) + ", not " + std::to_string(object.bytes) +
                         " of time " + std::to_string(object.version) +
                         "; make the manifest again");
}

void WebHdfsStore::read(const StoreObject& object, std::uint64_t offset, std::span<std::byte> out) {
  if (leaves_folder(object.name))
    throw StoreError(StoreFault::refused,
                     request("/" + object.name, "op=OPEN").url + ": leaves the store's directory");
  if (!out.empty()) {
    const HttpRequest asked =
        request("/" + object.name, "op=OPEN&offset=" + std::to_string(offset) +
                                       "&length=" + std::to_string(out.size()));
    try {
      http_.get_range(asked, {offset, out, object.bytes});
    } catch (const StoreError& error) {
      // A file that became shorter fails in many ways; its status says why.
      if (!error.passing() && error.fault() != StoreFault::changed) check_version(object);
      throw;
    }
  }
  check_version(object);
}

std::unique_ptr<Store> WebHdfsStore::clone() const {
  return std::make_unique<WebHdfsStore>(options_, timeouts_);
}

}  // namespace tributary::pool
