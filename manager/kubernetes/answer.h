// Answers to requests, and Kubernetes' Status for those that fail.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace tributary::manager::kubernetes {

using Json = nlohmann::ordered_json;

struct Answer {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body = {};
};

// Bytes that are no UTF-8, which a node may report, are replaced.
std::string text_of(const Json& json);
Answer json_answer(unsigned status, const Json& json);

// A request that fails: HTTP's status and the reason that clients act on, such as "NotFound".
class Failure : public std::runtime_error {
 public:
  Failure(unsigned status, std::string reason, const std::string& message)
      : std::runtime_error(message), status_(status), reason_(std::move(reason)) {}
  [[nodiscard]] unsigned status() const { return status_; }
  [[nodiscard]] Json json() const;
  [[nodiscard]] Answer answer() const { return json_answer(status_, json()); }

 private:
  unsigned status_;
  std::string reason_;
};

}  // namespace tributary::manager::kubernetes
