#include "pool/link/control_link.h"

#include <poll.h>

#include "core/utf8.h"

namespace tributary::pool {
namespace {

MessageStream begin(const Greeting& greeting, const std::string& address) {
  try {
    return MessageStream::begin(address);
  } catch (const StreamError& error) {
    throw greeting.named(error);
  }
}

}  // namespace

ControlLink::ControlLink(const LinkTarget& target)
    : greeting_(target, LinkUse::read), stream_(begin(greeting_, target.address)) {}

short ControlLink::events() const {
  return stage_ == Stage::connecting ? POLLOUT : POLLIN;
}

std::optional<Message> ControlLink::next() {
  if (stage_ == Stage::connecting) {
    if (!stream_.connected()) return std::nullopt;
    send(greeting_.hello());
    stage_ = Stage::challenge;
  }
  for (;;) {
    auto message = stream_.receive(Duration{});
    if (!message) return std::nullopt;
    if (const auto* failure = std::get_if<Failure>(&*message))
      throw StreamError(replace_invalid_utf8(failure->text));
    if (stage_ == Stage::ready) return message;
    if (stage_ == Stage::challenge) {
      const auto* const challenge = std::get_if<Challenge>(&*message);
      if (challenge == nullptr) throw StreamError("an answer of the wrong kind");
      send(greeting_.proof(*challenge));
      stage_ = Stage::welcome;
      continue;
    }
    const auto* const welcome = std::get_if<Welcome>(&*message);
    if (welcome == nullptr) throw StreamError("an answer of the wrong kind");
    greeting_.check(*welcome);
    stage_ = Stage::ready;
    return message;
  }
}

}  // namespace tributary::pool
