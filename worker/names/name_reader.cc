#include "worker/names/name_reader.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>

#include "worker/names/name_client.h"
#include "worker/transport/transport.h"

namespace tributary::worker {
namespace {

Instant steady_now() {
  return Instant::from_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::steady_clock::now().time_since_epoch())
                              .count());
}

std::shared_ptr<NameCall> call_of(const NameRead& what, std::uint32_t& job) {
  wire::DataName name;
  const char* wrong = wire::parse_name(what.name, name);
  if (wrong == nullptr && name.run.empty()) wrong = "has no run=";
  if (wrong != nullptr)
    throw std::invalid_argument("name '" + what.name + "' " + wrong +
                                "; allowed: /job/JOB/run=RUN/TENSOR/v=VERSION[/seg=SEGMENT]"
                                "[/worker=RANK]");
  job = name.job;
  auto call = std::make_shared<NameCall>();
  call->name = complete_name(what.name, job, std::string(name.run), call->kind);
  call->limit = what.limit;
  return call;
}

}  // namespace

std::vector<std::byte> read_by_name(const NameRead& what) {
  NameClient::Identity reader;
  auto call = call_of(what, reader.job);
  const auto transport = make_transport(what.address, reader.job, 0);
  NameClient client;
  client.identify(reader);
  Instant now = steady_now();
  client.start(call, now);
  const Transport::Receiver receiver = [&](const wire::Packet& packet) {
    if (wire::concerns_name(packet.header.type)) client.on_packet(packet, now);
  };
  const auto batch = std::make_unique<NameBatch>();
  while (client.take_finished() == nullptr) {
    now = steady_now();
    client.poll(now, *batch);
    if (batch->size() != 0) transport->send(batch->datagrams());
    if (transport->receive(receiver) != 0) continue;
    if (const std::string broken = transport->failure(); !broken.empty())
      throw std::runtime_error(broken);
    const Duration left = client.next_wakeup() - now;
    transport->wait(std::clamp(left, Duration(), Duration::ms(500)));
  }
  if (call->failure) throw std::runtime_error(call->failure->text);
  return std::move(call->value);
}

}  // namespace tributary::worker
