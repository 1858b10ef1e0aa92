// Calls to the manager, with requests and replies as JSON in the fields of manager.proto: one
// source knows gRPC, and no program that calls has to.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "core/time.h"

namespace tributary::manager {

inline constexpr const char* kDefaultManager = "unix:/run/tributary-manager/manager.sock";

struct Target {
  std::string address = kDefaultManager;  // unix:PATH or HOST:PORT, or several: A,B
  // PEM files, for HOST:PORT.
  std::string ca;
  std::string certificate;
  std::string key;
};

// Text says what the manager answered, or why it was not reached and what to do. Code UNKNOWN: the
// manager went away, and may have decided; DEADLINE_EXCEEDED: none was reached within the time, or
// has answered; CANCELLED: the caller's descriptor could be read before, and a manager that had
// been reached may have decided.
class ManagerError : public std::runtime_error {
 public:
  ManagerError(std::string code, const std::string& what)
      : std::runtime_error(what), code_(std::move(code)) {}
  [[nodiscard]] const std::string& code() const { return code_; }  // "NOT_FOUND"

 private:
  std::string code_;
};

// Asks the one of several managers that leads: passes over those that do not, and while none does,
// or none can be reached, tries again until the time is over: one may be starting. One thread at a
// time.
class Client {
 public:
  // `stop`: once this descriptor can be read, calls end; -1: none. Throws std::invalid_argument and
  // std::runtime_error for targets that make no sense.
  explicit Client(const Target& target, int stop = -1);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // `method`: "Jobs.Submit". Throws ManagerError.
  [[nodiscard]] std::string call(const std::string& method, const std::string& request,
                                 Duration timeout = Duration::seconds(10));
  // Each reply of a stream, until `sink` returns false. Throws ManagerError.
  void watch(const std::string& job, const std::function<bool(const std::string&)>& sink,
             Duration timeout);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace tributary::manager
