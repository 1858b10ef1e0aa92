// HTTP GET by libcurl, with the features that stores need: ranges, SigV4, limited redirects,
// detection of stalls, and errors as StoreFault. Keeps one connection between requests; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pool/store/store.h"

namespace tributary::pool {

struct HttpRange {
  std::uint64_t offset = 0;
  std::span<std::byte> out;
};

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;
  // For SigV4: "KEY:SECRET" and "aws:amz:REGION:s3"; empty: not signed.
  std::string credentials;
  std::string signature_scope;
  bool follow_redirects = false;
  // If the URL itself asks for the whole body (WebHDFS), no Range header is sent.
  bool range_header = true;
};

struct HttpAnswer {
  std::string body;  // from get_text()
  std::string etag;
};

class Http {
 public:
  explicit Http(const StoreTimeouts& timeouts);
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  // Gets at most `most` bytes of body. Throws StoreError that names the URL.
  HttpAnswer get_text(const HttpRequest& request, std::size_t most);
  // Gets exactly the bytes of the range. Throws StoreError.
  HttpAnswer get_range(const HttpRequest& request, const HttpRange& range);

 private:
  struct Body;
  HttpAnswer perform(const HttpRequest& request, Body& body, const std::string& range);

  struct Handle;
  std::unique_ptr<Handle> handle_;
  StoreTimeouts timeouts_;
};

}  // namespace tributary::pool
