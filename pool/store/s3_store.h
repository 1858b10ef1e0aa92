// Objects of an S3 bucket below a prefix, by ListObjectsV2 and ranged GETs, signed with SigV4 if
// there are credentials. Uses path-style addresses, which every S3-compatible server understands.
// Versions are ETags: each answer must have the manifest's, the asked range and the object's size.
#pragma once

#include <string>

#include "pool/store/http.h"
#include "pool/store/listing_count.h"

namespace tributary::pool {

struct S3Options {
  std::string endpoint = "https://s3.amazonaws.com";
  std::string region = "us-east-1";
  std::string bucket;
  std::string prefix;  // without a '/' at its ends
  std::string key;     // access key; empty: requests are not signed
  std::string secret;
  std::string session_token;
  ListingLimits listing = {};
};

// One page of ListObjectsV2's XML. Throws StoreError if it is not a whole one.
struct S3Page {
  std::vector<StoreObject> objects;  // names are whole keys
  std::string next;                  // token of the next page; empty: this was the last
};
S3Page parse_s3_page(const std::string& xml);

class S3Store : public Store {
 public:
  S3Store(S3Options options, const StoreTimeouts& timeouts);
  std::vector<StoreObject> list(const Retry& retry) override;
  void read(const StoreObject& object, std::uint64_t offset, std::span<std::byte> out) override;
  [[nodiscard]] std::unique_ptr<Store> clone() const override;
  void end_on(const StopFlag& stop) override { http_.end_on(stop); }

 private:
  [[nodiscard]] HttpRequest request(const std::string& path_and_query) const;

  S3Options options_;
  StoreTimeouts timeouts_;
  Http http_;
};

}  // namespace tributary::pool
