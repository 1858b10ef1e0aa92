// Files of HDFS by its REST interface, WebHDFS: LISTSTATUS, GETFILESTATUS, and OPEN, which answers
// with a redirect to the node that has the bytes.
//
//   OPEN offset, length ─▶ redirect that repeats both ─▶ bytes ─▶ GETFILESTATUS ─▶ served
//
// Versions are modification times. The status is asked for after the bytes of every read, so bytes
// of a file that changed meanwhile are not served. Answers of HDFS have no Content-Range: the URL
// that sends the bytes must name the asked offset and length.
#pragma once

#include <string>

#include "pool/store/http.h"
#include "pool/store/listing_count.h"

namespace tributary::pool {

struct WebHdfsOptions {
  std::string server;     // HOST:PORT of the name node
  std::string directory;  // begins with '/', no '/' at the end
  std::string user;       // empty: no user is named
  std::string scheme = "http";
  ListingLimits listing = {};
};

class WebHdfsStore : public Store {
 public:
  WebHdfsStore(WebHdfsOptions options, const StoreTimeouts& timeouts);
  std::vector<StoreObject> list(const Retry& retry) override;
  void read(const StoreObject& object, std::uint64_t offset, std::span<std::byte> out) override;
  [[nodiscard]] std::unique_ptr<Store> clone() const override;
  void end_on(const StopFlag& stop) override { http_.end_on(stop); }

 private:
  [[nodiscard]] HttpRequest request(const std::string& path, const std::string& query) const;
  struct Listing {
    const Retry& retry;
    ListingCount count;
    std::vector<StoreObject> found;
  };
  void list_directory(Listing& listing, const std::string& below, int depth);
  // Throws StoreError unless the file has the length and the time of `object` now.
  void check_version(const StoreObject& object);

  WebHdfsOptions options_;
  StoreTimeouts timeouts_;
  Http http_;
};

}  // namespace tributary::pool
