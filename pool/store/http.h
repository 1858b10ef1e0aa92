// HTTP GET by libcurl, with the features that stores need: ranges that are proven (range_proof.h),
// SigV4, limited redirects, an end to slow and to stopped transfers, and errors as StoreFault.
// Keeps one connection between requests; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pool/store/range_proof.h"
#include "pool/store/store.h"

namespace tributary::pool {

struct HttpRange {
  std::uint64_t offset = 0;
  std::span<std::byte> out;
  std::uint64_t object_bytes = 0;  // the manifest's size of the whole object
};

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;
  // For SigV4: "KEY:SECRET" and "aws:amz:REGION:s3"; empty: not signed.
  std::string credentials;
  std::string signature_scope;
  bool follow_redirects = false;
  // Tells by the body of an error whether another try may succeed, where the status says it lasts.
  bool (*passes)(long status, const std::string& body) = nullptr;
  RangeWay range_way = RangeWay::header;
};

struct HttpAnswer {
  std::string body;  // from get_text()
  std::string etag;  // of the last answer, after redirects
};

class Http {
 public:
  explicit Http(const StoreTimeouts& timeouts);
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  // Ends transfers with StoreError within about a second after it is set; it outlives this.
  void end_on(const StopFlag& stop) { stop_ = &stop; }

  // Gets at most `most` bytes of body. Throws StoreError that names the URL.
  HttpAnswer get_text(const HttpRequest& request, std::size_t most);
  // Gets exactly the bytes of the range, or the whole of an empty object. Throws StoreError that
  // names the URL, the asked range and the given one.
  HttpAnswer get_range(const HttpRequest& request, const HttpRange& range);

 private:
  struct Body;
  HttpAnswer perform(const HttpRequest& request, Body& body, const std::string& range);

  struct Handle;
  std::unique_ptr<Handle> handle_;
  StoreTimeouts timeouts_;
  const StopFlag* stop_ = nullptr;
};

}  // namespace tributary::pool
