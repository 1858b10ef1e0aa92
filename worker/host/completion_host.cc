#include "worker/host/completion_host.h"

#include <pthread.h>
#include <signal.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace tributary::worker {
namespace {

const config::ServerConfig& without_models(const config::ServerConfig& config) {
  if (!config.dpdk.devargs.empty())
    throw std::invalid_argument(config.name + ": has a DPDK port, which only tributary-psd opens");
  for (const config::ServedJobConfig& served : config.jobs)
    if (served.optimizer.kind != config::OptimizerKind::none)
      throw std::invalid_argument(config.name + ": job " + std::to_string(served.job.id) +
                                  " has a model, which only tributary-psd hosts");
  return config;
}

}  // namespace

CompletionHost::CompletionHost(const config::ServerConfig& config, std::uint64_t nonce)
    : loop_(without_models(config), nonce, make_udp_socket(config)) {
  // The application's signals are for its own threads: the new thread inherits this mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "tributary-host");
    loop_.run({});
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

CompletionHost::~CompletionHost() {
  loop_.stop();
  thread_.join();
}

void CompletionHost::abandon() {
  new std::thread(std::move(thread_));  // neither joined nor destroyed: it does not exist here
}

}  // namespace tributary::worker
