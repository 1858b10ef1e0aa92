// An external store of training data: objects with names, sizes and versions, read in pieces (L1).
//
// One instance is one thread's: it keeps its connection open between reads. clone() makes another
// one for another thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/time.h"

namespace tributary::pool {

enum class StoreFault : std::uint8_t {
  not_found,    // 404, no such file
  denied,       // 403, 401, no rights
  changed,      // another size or version than the manifest's
  refused,      // an answer that another try does not change: other 4xx, redirects without end
  unavailable,  // 5xx, 429, no connection
  timeout,      // hangs
  incomplete,   // fewer bytes than it said, or than were asked for
};
const char* name_of(StoreFault fault);

class StoreError : public std::runtime_error {
 public:
  StoreError(StoreFault fault, const std::string& text) : std::runtime_error(text), fault_(fault) {}
  [[nodiscard]] StoreFault fault() const { return fault_; }
  // Another try may succeed.
  [[nodiscard]] bool passing() const { return fault_ >= StoreFault::unavailable; }

 private:
  StoreFault fault_;
};

struct StoreObject {
  std::string name;  // below the store's address
  std::uint64_t bytes = 0;
  std::uint64_t version = 0;  // another one when the object is another; 0: the store has none
};

struct StoreTimeouts {
  Duration connect = Duration::seconds(5);
  Duration stall = Duration::seconds(10);  // without a byte
};

class Store {
 public:
  virtual ~Store() = default;
  // Every object, sorted by name. Throws StoreError.
  virtual std::vector<StoreObject> list() = 0;
  // Fills `out` with the object's bytes from `offset` on. Throws StoreError; `changed` where the
  // store shows that it is not the object of the manifest any more.
  virtual void read(const StoreObject& object, std::uint64_t offset, std::span<std::byte> out) = 0;
  [[nodiscard]] virtual std::unique_ptr<Store> clone() const = 0;
};

// file:///DIRECTORY, s3://BUCKET[/PREFIX][?endpoint=URL&region=NAME], webhdfs://HOST:PORT/DIRECTORY
// [?user=NAME]. S3 credentials are AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN
// of the environment; without them requests are not signed. Throws std::invalid_argument.
std::unique_ptr<Store> open_store(const std::string& url, const StoreTimeouts& timeouts = {});

// FNV-1a, for versions; never 0.
std::uint64_t version_of(std::string_view text);

}  // namespace tributary::pool
