// The manager's files: the topology and the tenants. One thread at a time.
#pragma once

#include <functional>

#include "manager/service/service.h"
#include "tools/managerd/options.h"

namespace tributary::managerd {

class SetupFiles {
 public:
  // Reads them. Throws config::ConfigErrors and std::runtime_error.
  explicit SetupFiles(const Options& options);

  // As they were when they were last read and good.
  [[nodiscard]] const manager::Service::Setup& setup() const { return setup_; }
  // Throws as the constructor does; then setup() stays as it is.
  const manager::Service::Setup& read_again();

 private:
  const Options& options_;
  manager::Service::Setup setup_;
};

// Reads the files again and says so in the log, or what is wrong with them; `use` gets what they
// say.
void reload(SetupFiles& files, const std::function<void(const manager::Service::Setup&)>& use);

}  // namespace tributary::managerd
