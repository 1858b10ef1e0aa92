// An external store of training data: objects with names, sizes and versions, read in pieces (L1).
//
// One thread per instance: it keeps its connection open between reads. clone() makes an instance
// for another thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/time.h"
#include "pool/store/retry.h"

namespace tributary::pool {

struct StoreObject {
  std::string name;  // below the store's address
  std::uint64_t bytes = 0;
  std::uint64_t version = 0;  // changes with the object; never 0 in a listing
  std::string path = {};      // without links, where the name leads over some; empty: the name

  // The name in a manifest, and of reads.
  [[nodiscard]] const std::string& place() const { return path.empty() ? name : path; }
};

// Objects that a listing left out, each with the reason. Only the first few have their names kept.
class LeftOut {
 public:
  void add(const std::string& name, const std::string& why) {
    if (++count_ <= kMostNamed) named_.push_back(name + ": " + why);
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] const std::vector<std::string>& named() const { return named_; }

 private:
  static constexpr std::uint64_t kMostNamed = 16;
  std::uint64_t count_ = 0;
  std::vector<std::string> named_;
};

struct StoreTimeouts {
  Duration connect = Duration::seconds(5);
  Duration stall = Duration::seconds(10);  // slower than least_kib_per_second for so long
  std::uint32_t least_kib_per_second = 16;
};

class Store {
 public:
  virtual ~Store() = default;
  // Every object, sorted by name. Each request of the listing is tried as `retry` says. Throws
  // StoreError.
  virtual std::vector<StoreObject> list(const Retry& retry) = 0;
  // Fills `out` with the object's bytes from `offset` on. Returns only if the store has shown, for
  // this read, that they are this range of an object with this size and version. Throws StoreError
  // that names the object's address; `changed` if it is not the manifest's any more.
  virtual void read(const StoreObject& object, std::uint64_t offset, std::span<std::byte> out) = 0;
  [[nodiscard]] virtual std::unique_ptr<Store> clone() const = 0;
  // Reads end with StoreError soon after `stop` is set, which outlives this; clones do not know it.
  virtual void end_on(const StopFlag& /*stop*/) {}
  // Objects that the last list() found and that cannot be records.
  [[nodiscard]] const LeftOut& left_out() const { return left_out_; }

 protected:
  LeftOut left_out_;
};

// file:///DIRECTORY, s3://BUCKET[/PREFIX][?endpoint=URL&region=NAME], webhdfs://HOST:PORT/DIRECTORY
// [?user=NAME]. S3 credentials: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN in the
// environment; without them requests are not signed. Throws std::invalid_argument.
std::unique_ptr<Store> open_store(const std::string& url, const StoreTimeouts& timeouts = {});

// FNV-1a, for versions; never 0.
std::uint64_t version_of(std::string_view text);

}  // namespace tributary::pool
