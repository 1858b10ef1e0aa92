#include "pool/store/webhdfs_store.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pool/store/url.h"

namespace tributary::pool {
namespace {

using nlohmann::json;

constexpr std::size_t kMostListing = 64 << 20;
constexpr int kMostDepth = 32;
constexpr std::size_t kMostChecked = 4096;

json parse(const std::string& text, const std::string& url) {
  json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_object()) throw StoreError(StoreFault::refused, url + ": the answer is no JSON");
  return parsed;
}

StoreObject object_of(const json& status, const std::string& url) {
  try {
    StoreObject object;
    object.bytes = status.at("length").get<std::uint64_t>();
    object.version = std::max<std::uint64_t>(status.at("modificationTime").get<std::uint64_t>(), 1);
    return object;
  } catch (const json::exception&) {
    throw StoreError(StoreFault::refused, url + ": a file without length or time");
  }
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
  request.range_header = false;
  return request;
}

void WebHdfsStore::list_directory(const std::string& below, int depth,
                                  std::vector<StoreObject>& out) {
  const HttpRequest asked = request(below.empty() ? "" : "/" + below, "op=LISTSTATUS");
  if (depth > kMostDepth) throw StoreError(StoreFault::refused, asked.url + ": folders too deep");
  const json answer = parse(http_.get_text(asked, kMostListing).body, asked.url);
  const json* list = nullptr;
  if (const auto all = answer.find("FileStatuses"); all != answer.end() && all->is_object())
    if (const auto found = all->find("FileStatus"); found != all->end()) list = &*found;
  if (list == nullptr || !list->is_array())
    throw StoreError(StoreFault::refused, asked.url + ": the answer is no listing");
  for (const json& status : *list) {
    if (!status.is_object()) throw StoreError(StoreFault::refused, asked.url + ": no file status");
    const std::string suffix = status.value("pathSuffix", "");
    const std::string name = below.empty() ? suffix : below + "/" + suffix;
    if (status.value("type", "") == "DIRECTORY") {
      if (!suffix.empty()) list_directory(name, depth + 1, out);
    } else {
      StoreObject object = object_of(status, asked.url);
      object.name = name;
      out.push_back(std::move(object));
    }
  }
}

std::vector<StoreObject> WebHdfsStore::list() {
  std::vector<StoreObject> out;
  list_directory("", 0, out);
  std::sort(out.begin(), out.end(),
            [](const StoreObject& a, const StoreObject& b) { return a.name < b.name; });
  return out;
}

void WebHdfsStore::check_version(const StoreObject& object) {
  if (checked_.contains(object.name)) return;
  const HttpRequest asked = request("/" + object.name, "op=GETFILESTATUS");
  const json answer = parse(http_.get_text(asked, 1 << 20).body, asked.url);
  const auto status = answer.find("FileStatus");
  if (status == answer.end() || !status->is_object())
    throw StoreError(StoreFault::refused, asked.url + ": the answer is no file status");
  const StoreObject now = object_of(*status, asked.url);
  if (now.bytes != object.bytes || (object.version != 0 && now.version != object.version))
    throw StoreError(StoreFault::changed, asked.url + ": is another file than the manifest's (" +
                                              std::to_string(now.bytes) +
                                              " bytes); make the "
                                              "manifest again");
  if (checked_.size() >= kMostChecked) checked_.clear();
  checked_[object.name] = now;
}

void WebHdfsStore::read(const StoreObject& object, std::uint64_t offset, std::span<std::byte> out) {
  if (out.empty()) return;
  check_version(object);
  const HttpRequest asked = request("/" + object.name, "op=OPEN&offset=" + std::to_string(offset) +
                                                           "&length=" + std::to_string(out.size()));
  http_.get_range(asked, {offset, out});
}

std::unique_ptr<Store> WebHdfsStore::clone() const {
  return std::make_unique<WebHdfsStore>(options_, timeouts_);
}

}  // namespace tributary::pool
