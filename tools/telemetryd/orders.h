// Orders that one thread has given, and another has not carried out yet.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

namespace tributary::telemetryd {

template <typename Order>
class Orders {
 public:
  void add(const Order& order) {
    const std::lock_guard lock(mutex_);
    orders_.push_back(order);
  }
  std::vector<Order> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(orders_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Order> orders_;
};

}  // namespace tributary::telemetryd
