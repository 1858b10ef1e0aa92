// A manager of several while another one leads: it tells callers who that is.
#pragma once

#include <memory>

#include "manager/etcd/leadership.h"
#include "tools/daemon/daemon.h"
#include "tools/managerd/options.h"
#include "tools/managerd/setup_files.h"

namespace tributary::managerd {

// Until this manager leads; none: the daemon is to stop. `announce`: once it serves. What is
// bound to any port stays at that port: `options` has it.
std::unique_ptr<manager::Leadership> follow(manager::EtcdConnection& etcd, Options& options,
                                            SetupFiles& files, tools::Daemon& daemon,
                                            const std::function<void()>& announce);

}  // namespace tributary::managerd
