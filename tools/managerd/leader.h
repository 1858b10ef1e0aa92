// The manager that leads, or is the only one: it decides until it is to stop.
#pragma once

#include <functional>

#include "manager/store/store.h"
#include "tools/daemon/daemon.h"
#include "tools/managerd/options.h"
#include "tools/managerd/setup_files.h"

namespace tributary::managerd {

// True: the daemon is to stop; false: `is_over` has ended it. `announce`: once it serves. Throws
// StoreError and std::runtime_error.
bool lead(manager::Store& store, SetupFiles& files, const Options& options, tools::Daemon& daemon,
          const std::function<void()>& announce, const std::function<bool()>& is_over);

}  // namespace tributary::managerd
