// A store in memory that fails as a test tells it to.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "pool/store/store.h"

namespace tributary::pool {

class FakeStore : public Store {
 public:
  struct Shared {
    std::map<std::string, std::string> objects;
    // Called before each read with its number, from 1; throws to make it fail.
    std::function<void(const std::string& name, int read)> before;
    std::atomic<int> reads{0};
    std::atomic<int> at_once{0};
    std::atomic<int> most_at_once{0};
  };

  explicit FakeStore(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::vector<StoreObject> list(const Retry&) override {
    std::vector<StoreObject> out;
    for (const auto& [name, data] : shared_->objects) out.push_back({name, data.size(), 1});
    return out;
  }
  void read(const StoreObject& object, std::uint64_t offset, std::span<std::byte> out) override {
    const int now = ++shared_->at_once;
    int most = shared_->most_at_once;
    while (most < now && !shared_->most_at_once.compare_exchange_weak(most, now)) {
    }
    struct Leave {
      ~Leave() { --at_once; }
      std::atomic<int>& at_once;
    } leave{shared_->at_once};
    const int number = ++shared_->reads;
    if (shared_->before) shared_->before(object.name, number);
    const std::string& data = shared_->objects.at(object.name);
    if (offset + out.size() > data.size()) throw StoreError(StoreFault::incomplete, "short");
    std::memcpy(out.data(), data.data() + offset, out.size());
  }
  [[nodiscard]] std::unique_ptr<Store> clone() const override {
    return std::make_unique<FakeStore>(shared_);
  }

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace tributary::pool
