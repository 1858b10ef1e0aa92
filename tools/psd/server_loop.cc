#include "tools/psd/server_loop.h"

#include <utility>

#include "config/text/codec.h"

namespace tributary::psd {

ServerLoop::ServerLoop(const config::ServerConfig& config, std::uint64_t nonce,
                       std::unique_ptr<DatagramLink> link, CheckpointFile::Report report)
    : loop_(config, nonce, std::move(link)),
      report_(std::move(report)),
      checkpoints_(loop_.server(), report_) {}

std::string describe_refusal(const completion::ServerSeatStatus& seat, std::uint32_t root_ipv4) {
  const std::string root = config::format_ipv4(root_ipv4);
  std::string text = "tributary-psd: job " + std::to_string(seat.job) + ", shard " +
                     std::to_string(seat.shard) + ": refused: ";
  if (seat.objection == completion::Objection::shared_model)
    return text + "the job has a model here, and its root " + root +
           " names other completion_hosts beside this server, which have none; name this server "
           "alone in completion_hosts there, or remove the optimizer here";
  return text + "its root " + root +
         " was told other things about the job; give both files the same workers, window, "
         "chunk_bytes, shards, integrity, partials, order, arithmetic and notify";
}

void ServerLoop::report_refusals(Instant now) {
  const completion::Server& server = loop_.server();
  const std::uint64_t answered = server.counters().refused.get() + server.counters().starts.get();
  if (answered == answered_) return;
  answered_ = answered;
  const auto seats = server.status(now);
  reported_.resize(seats.size());
  for (std::size_t i = 0; i < seats.size(); ++i) {
    const auto objection = seats[i].objection;
    const auto before = std::exchange(reported_[i], objection);
    if (objection == completion::Objection::none || objection == before) continue;
    const Endpoint& root = server.find_job(seats[i].job)->roots.front();
    report_(describe_refusal(seats[i], ipv4_of(root.node())));
  }
}

void ServerLoop::run() {
  loop_.run({.turn =
                 [this](Instant now) {
                   mailbox_.drain(now);
                   report_refusals(now);
                 },
             .tick = [this] { checkpoints_.look(); }});
  checkpoints_.finish();
}

}  // namespace tributary::psd
