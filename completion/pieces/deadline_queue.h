// Intrusive FIFO of members that must end by a deadline. All members of one queue have the same
// timeout, so arrival order is expiry order: arm, cancel and expire are O(1), and the front alone
// tells whether any is due.
#pragma once

#include "core/time.h"

namespace tributary::completion {

// Base of a queue member. Not copyable while linked; its address is its identity.
struct DeadlineNode {
  DeadlineNode* previous = nullptr;
  DeadlineNode* next = nullptr;
  Instant armed_at;
};

class DeadlineQueue {
 public:
  explicit DeadlineQueue(Duration timeout) : timeout_(timeout) {
    root_.previous = root_.next = &root_;
  }
  DeadlineQueue(const DeadlineQueue&) = delete;
  DeadlineQueue& operator=(const DeadlineQueue&) = delete;

  // `now` must not be before that of the previous call.
  void arm(DeadlineNode& node, Instant now) {
    node.armed_at = now;
    node.previous = root_.previous;
    node.next = &root_;
    root_.previous->next = &node;
    root_.previous = &node;
  }
  static void cancel(DeadlineNode& node) {
    if (node.next == nullptr) return;
    node.previous->next = node.next;
    node.next->previous = node.previous;
    node.previous = node.next = nullptr;
  }
  // The oldest member whose deadline has passed (now ≥ armed + timeout), or nullptr.
  [[nodiscard]] DeadlineNode* due(Instant now) const {
    DeadlineNode* first = root_.next;
    if (first == &root_ || now - first->armed_at < timeout_) return nullptr;
    return first;
  }
  [[nodiscard]] Duration timeout() const { return timeout_; }

 private:
  Duration timeout_;
  DeadlineNode root_;
};

}  // namespace tributary::completion
