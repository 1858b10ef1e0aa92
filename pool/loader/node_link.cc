#include "pool/loader/node_link.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/utf8.h"
#include "pool/loader/token.h"

namespace tributary::pool {

NodeLink::NodeLink(const LinkTarget& target, LinkUse use, Duration connect_time)
    : NodeLink(MessageStream::connect(target.address, connect_time), target, use, "") {}

NodeLink NodeLink::to_operate(const LinkTarget& target, const OperatorAccess& access) {
  if (auto local = MessageStream::connect_unix(access.socket)) {
    try {
      return NodeLink(std::move(*local), target, LinkUse::operate, "");
    } catch (const StreamError&) {
      // It lets this user not in; its address may, and says what is wrong otherwise.
    }
  }
  return NodeLink(MessageStream::connect(target.address, Duration::seconds(2)), target,
                  LinkUse::operate, access.token);
}

NodeLink::NodeLink(MessageStream stream, const LinkTarget& target, LinkUse use,
                   const std::string& operator_token)
    : stream_(std::move(stream)) {
  try {
    greet(target, use, operator_token);
  } catch (const StreamError& error) {
    throw StreamError("node " + target.node + " at " + target.address + ": " + error.what());
  }
}

void NodeLink::greet(const LinkTarget& target, LinkUse use, const std::string& operator_token) {
  Hello hello;
  hello.pool = target.pool;
  hello.manifest = target.manifest;
  hello.nonce = draw_nonce();
  const auto challenge = stream_.ask_for<Challenge>(hello, kAnswerTime);
  if (!same(challenge.proof, prove(target.token, Role::node, hello.nonce, challenge.nonce)))
    throw StreamError(
        "does not know the pool's token; is it the right node, and the right token_file?");
  const Proof proof{prove(target.token, Role::reader, hello.nonce, challenge.nonce),
                    static_cast<std::uint8_t>(use == LinkUse::read ? 1 : 0)};
  welcome_ = stream_.ask_for<Welcome>(proof, kAnswerTime);
  if (!is_utf8(welcome_.node)) throw StreamError("its field 'node' is not UTF-8");
  if (welcome_.node != target.node)
    throw StreamError("calls itself '" + welcome_.node + "'; two pools share the address");
  if (operator_token.empty()) return;
  const Operate operate{prove(operator_token, Role::operates, hello.nonce, challenge.nonce)};
  stream_.ask_for<Text>(operate, kAnswerTime);
}

RemoteMemory NodeLink::memory() const {
  RemoteMemory memory;
  memory.transport = TransportKind::automatic;
  for (const TransportKind kind :
       {TransportKind::verbs, TransportKind::mapped, TransportKind::tcp, TransportKind::shm})
    if (welcome_.transport == name_of(kind)) memory.transport = kind;
  if (memory.transport == TransportKind::automatic)
    throw StreamError("its field 'transport' is '" + replace_invalid_utf8(welcome_.transport) +
                      "'; allowed: verbs, mapped, tcp, shm");
  if (welcome_.address.empty()) throw StreamError("its field 'address' is empty");
  memory.address = welcome_.address;
  memory.base = welcome_.base;
  memory.bytes = welcome_.bytes;
  memory.key = welcome_.key;
  return memory;
}

void NodeLink::refresh(const std::function<void(const PlacedRecord&)>& apply) {
  generation_ = std::max(generation_, read_table(generation_, apply));
}

void NodeLink::refresh_all(const std::function<void(const PlacedRecord&)>& apply) {
  read_table(0, apply);
}

std::uint64_t NodeLink::read_table(std::uint64_t since,
                                   const std::function<void(const PlacedRecord&)>& apply) {
  stream_.send(TableRequest{since}, kAnswerTime);
  for (;;) {
    auto message = stream_.receive(kAnswerTime);
    if (!message) throw StreamError("no answer in time");
    if (const auto* failure = std::get_if<Failure>(&*message))
      throw StreamError(replace_invalid_utf8(failure->text));
    const auto* entries = std::get_if<Entries>(&*message);
    if (entries == nullptr) throw StreamError("an answer of the wrong kind");
    for (const PlacedRecord& record : entries->records) apply(record);
    if (entries->more == 0) return entries->generation;
    if (entries->records.empty()) throw StreamError("its field 'more' promises records for ever");
  }
}

bool NodeLink::renew() {
  const auto answer = stream_.ask_for<Renewed>(Renew{welcome_.lease, generation_}, kAnswerTime);
  if (answer.alive == 0) {
    welcome_.lease = answer.lease;
    generation_ = 0;
    return true;
  }
  return answer.generation != generation_;
}

std::vector<PlacedRecord> NodeLink::lookup(const std::vector<std::uint64_t>& ids) {
  std::vector<PlacedRecord> out;
  for (std::size_t at = 0; at < ids.size(); at += kMostIds / 4) {
    Lookup asked;
    asked.ids.assign(
        ids.begin() + static_cast<std::ptrdiff_t>(at),
        ids.begin() + static_cast<std::ptrdiff_t>(std::min(ids.size(), at + kMostIds / 4)));
    auto entries = stream_.ask_for<Entries>(asked, kAnswerTime);
    out.insert(out.end(), entries.records.begin(), entries.records.end());
  }
  return out;
}

void NodeLink::report_corrupt(const PlacedRecord& record) {
  stream_.ask_for<Text>(Corrupt{record}, kAnswerTime);
}

std::string NodeLink::command(CommandKind kind, std::uint64_t first, std::uint64_t count) {
  const Command command{static_cast<std::uint8_t>(kind), first, count};
  // Verifying reads all of a node's memory.
  return stream_.ask_for<Text>(command, Duration::seconds(600)).json;
}

std::string NodeLink::status() {
  return stream_.ask_for<Text>(StatusRequest{}, kAnswerTime).json;
}

}  // namespace tributary::pool
