// Files of HDFS by its REST interface, WebHDFS: LISTSTATUS, GETFILESTATUS, and OPEN, which answers
// with a redirect to the node that has the bytes. Versions are modification times; an object's
// version is checked before its first read.
#pragma once

#include <map>
#include <string>

#include "pool/store/http.h"

namespace tributary::pool {

struct WebHdfsOptions {
  std::string server;     // HOST:PORT of the name node
  std::string directory;  // begins with '/', no '/' at the end
  std::string user;       // empty: no user is named
  std::string scheme = "http";
};

class WebHdfsStore : public Store {
 public:
  WebHdfsStore(WebHdfsOptions options, const StoreTimeouts& timeouts);
  std::vector<StoreObject> list() override;
  void read(const StoreObject& object, std::uint64_t offset, std::span<std::byte> out) override;
  [[nodiscard]] std::unique_ptr<Store> clone() const override;

 private:
  [[nodiscard]] HttpRequest request(const std::string& path, const std::string& query) const;
  void list_directory(const std::string& below, int depth, std::vector<StoreObject>& out);
  void check_version(const StoreObject& object);

  WebHdfsOptions options_;
  StoreTimeouts timeouts_;
  Http http_;
  std::map<std::string, StoreObject> checked_;
};

}  // namespace tributary::pool
