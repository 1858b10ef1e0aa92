#include "pool/link/node_link.h"

#include <algorithm>
#include <utility>

#include "core/utf8.h"

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
  Greeting greeting(target, use);
  try {
    greet(greeting, operator_token);
  } catch (const StreamError& error) {
    throw greeting.named(error);
  }
}

void NodeLink::greet(Greeting& greeting, const std::string& operator_token) {
  const auto challenge = stream_.ask_for<Challenge>(greeting.hello(), kAnswerTime);
  welcome_ = stream_.ask_for<Welcome>(greeting.proof(challenge), kAnswerTime);
  greeting.check(welcome_);
  if (!operator_token.empty()) stream_.ask_for<Text>(greeting.operate(operator_token), kAnswerTime);
}

void NodeLink::refresh(const std::function<void(const PlacedRecord&)>& apply) {
  stream_.send(TableRequest{generation_}, kAnswerTime);
  for (;;) {
    auto message = stream_.receive(kAnswerTime);
    if (!message) throw StreamError("no answer in time");
    if (const auto* failure = std::get_if<Failure>(&*message))
      throw StreamError(replace_invalid_utf8(failure->text));
    const auto* entries = std::get_if<Entries>(&*message);
    if (entries == nullptr) throw StreamError("an answer of the wrong kind");
    for (const PlacedRecord& record : entries->records) apply(record);
    if (entries->more == 0) {
      generation_ = std::max(generation_, entries->generation);
      return;
    }
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

std::string NodeLink::command(CommandKind kind, std::uint64_t first, std::uint64_t count) {
  const Command command{static_cast<std::uint8_t>(kind), first, count};
  // Verifying reads all of a node's memory.
  return stream_.ask_for<Text>(command, Duration::seconds(600)).json;
}

std::string NodeLink::status() {
  return stream_.ask_for<Text>(StatusRequest{}, kAnswerTime).json;
}

}  // namespace tributary::pool
