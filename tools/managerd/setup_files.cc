#include "tools/managerd/setup_files.h"

#include <exception>
#include <stdexcept>
#include <string>

#include "config/text/file.h"
#include "manager/admission/tenants_file.h"
#include "tools/daemon/daemon.h"

namespace tributary::managerd {
namespace {

manager::Service::Setup read(const Options& options) {
  manager::Service::Setup setup;
  setup.tenants = manager::parse_tenants(config::read_file(options.tenants), options.tenants);
  setup.topology = config::load_topology(options.topology);
  if (!setup.topology.jobs.empty())
    throw std::runtime_error(options.topology + ": has jobs (the first is " +
                             setup.topology.jobs[0].config.name +
                             "), and jobs are submitted; leave them out");
  return setup;
}

}  // namespace

SetupFiles::SetupFiles(const Options& options) : options_(options), setup_(read(options)) {}

const manager::Service::Setup& SetupFiles::read_again() {
  setup_ = read(options_);
  return setup_;
}

void reload(SetupFiles& files, const std::function<void(const manager::Service::Setup&)>& use) {
  try {
    use(files.read_again());
    tools::report("has read the topology and the tenants again");
  } catch (const std::exception& error) {
    tools::report_warning(std::string("keeps its topology and tenants: ") + error.what());
  }
}

}  // namespace tributary::managerd
