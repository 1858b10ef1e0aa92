// A gRPC channel to the manager; for the sources that know gRPC.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "manager/api/client.h"

namespace tributary::manager {

inline constexpr int kMostMessageBytes = 64 << 20;  // both ways

// One for each address of the target. Throws std::invalid_argument.
std::vector<Target> targets_of(const Target& target);
// To a target of one address. Throws as Client does.
std::shared_ptr<grpc::Channel> open_channel(const Target& target);
// "UNAVAILABLE".
std::string name_of(grpc::StatusCode code);
// The text for the user about a failed call.
std::string describe(const grpc::Status& status, const Target& target);
// The manager that was asked does not lead, and has done nothing.
bool is_not_leading(const grpc::Status& status);

// The managers of a target, of which one is spoken with until it has proved to be the wrong one.
class Managers {
 public:
  explicit Managers(const Target& target);

  [[nodiscard]] const Target& target() const { return ways_[current_].target; }
  [[nodiscard]] const std::shared_ptr<grpc::Channel>& channel() const {
    return ways_[current_].channel;
  }
  [[nodiscard]] std::size_t size() const { return ways_.size(); }
  void go_on() { current_ = (current_ + 1) % ways_.size(); }

 private:
  struct Way {
    Target target;
    std::shared_ptr<grpc::Channel> channel;
  };
  std::vector<Way> ways_;
  std::size_t current_ = 0;
};

}  // namespace tributary::manager
