// tributary-managerd: the manager of a cluster as a daemon.
//
//   read topology and tenants ─▶ open the store, take over ─▶ kubectl's HTTPS, gRPC, HTTP ─▶
//   "ready" ─▶ wait for a signal; SIGHUP: read topology and tenants again
//
// Of several managers on one etcd, one leads, and the others follow, ready to take over:
//
//   follow: answer who leads ─▶ lead, for as long as the lease holds ─▶ follow ...
//
// Its decisions are in the store: a process that is killed is followed by one that knows as much,
// and jobs that run notice nothing.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

#include "manager/etcd/etcd_store.h"
#include "tools/cli/app.h"
#include "tools/daemon/daemon.h"
#include "tools/daemon/log.h"
#include "tools/managerd/follower.h"
#include "tools/managerd/leader.h"
#include "tools/managerd/setup_files.h"
#include "tools/program/cpu_check.h"

namespace tributary::managerd {
namespace {

// Leads whenever the lease is its own, and follows in between.
void serve_among_several(Options& options, SetupFiles& files, tools::Daemon& daemon,
                         const std::function<void()>& announce) {
  manager::EtcdConnection etcd(manager::parse_etcd_address(options.store), options.etcd_tls);
  for (;;) {
    const auto leadership = follow(etcd, options, files, daemon, announce);
    if (!leadership) return;
    tools::report("leads, term " + std::to_string(leadership->term()));
    manager::EtcdStore store(etcd, *leadership);
    try {
      if (lead(store, files, options, daemon, announce, [&] { return leadership->is_over(); }))
        return;
      tools::report("leads no more: its lease is over");
    } catch (const manager::StoreError& error) {
      tools::report_warning(std::string("cannot take over: ") + error.what());
    }
  }
}

int serve(Options& options) {
  SetupFiles files(options);
  tools::Daemon daemon;
  const auto announce = [&, announced = false]() mutable {
    if (!std::exchange(announced, true)) daemon.announce_ready(options.ready_fd);
  };
  if (manager::is_etcd_address(options.store)) {
    serve_among_several(options, files, daemon, announce);
    return 0;
  }
  const auto store = manager::open_store(options.store);
  lead(*store, files, options, daemon, announce, {});
  return 0;
}

int run(Options& options) {
  try {
    if (!options.check) return serve(options);
    static_cast<void>(SetupFiles(options));
    std::printf("%s, %s: good\n", options.topology.c_str(), options.tenants.c_str());
    return 0;
  } catch (const config::ConfigErrors& errors) {
    tools::report_end(errors.what());
  } catch (const std::exception& error) {
    tools::report_end(std::string("tributary-managerd: ") + error.what());
  }
  return 1;
}

}  // namespace
}  // namespace tributary::managerd

// Before DPDK's constructors, which use what an old CPU lacks.
[[gnu::section(".preinit_array"), gnu::used]] const auto kFirst = &tributary::tools::end_on_old_cpu;

int main(int argc, char** argv) {
  namespace tools = tributary::tools;
  tributary::cli::App app("Tributary manager: decides which jobs run in a cluster, and where",
                          "tributary-managerd");
  tributary::managerd::Options options;
  tributary::managerd::add_options(app, options);
  app.set_version_flag("--version", std::string("tributary-managerd ") + TRIBUTARY_VERSION);
  if (const auto status = app.run(argc, argv)) return *status;
  tools::set_log({*tributary::parse_log_level(options.log_level),
                  options.log_format == "json" ? tools::LogFormat::json : tools::LogFormat::text});
  return tributary::managerd::run(options);
}
