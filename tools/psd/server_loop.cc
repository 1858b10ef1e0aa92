#include "tools/psd/server_loop.h"

#include <utility>

namespace tributary::psd {

ServerLoop::ServerLoop(const config::ServerConfig& config, std::uint64_t nonce,
                       std::unique_ptr<DatagramLink> link, CheckpointFile::Report report)
    : loop_(config, nonce, std::move(link)), checkpoints_(loop_.server(), std::move(report)) {}

void ServerLoop::run() {
  loop_.run({.turn = [this](Instant now) { mailbox_.drain(now); },
             .tick = [this] { checkpoints_.look(); }});
  checkpoints_.finish();
}

}  // namespace tributary::psd
