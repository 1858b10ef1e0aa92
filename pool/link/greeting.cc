#include "pool/link/greeting.h"

#include <utility>

#include "core/utf8.h"
#include "pool/link/token.h"

namespace tributary::pool {

Greeting::Greeting(LinkTarget target, LinkUse use)
    : target_(std::move(target)), use_(use), nonce_(draw_nonce()) {}

Hello Greeting::hello() const {
  Hello hello;
  hello.pool = target_.pool;
  hello.manifest = target_.manifest;
  hello.nonce = nonce_;
  return hello;
}

Proof Greeting::proof(const Challenge& challenge) {
  if (!same(challenge.proof, prove(target_.token, Role::node, nonce_, challenge.nonce)))
    throw StreamError(
        "does not know the pool's token; is it the right node, and the right token_file?");
  nodes_nonce_ = challenge.nonce;
  return {prove(target_.token, Role::reader, nonce_, nodes_nonce_),
          static_cast<std::uint8_t>(use_ == LinkUse::read ? 1 : 0)};
}

void Greeting::check(const Welcome& welcome) const {
  if (!is_utf8(welcome.node)) throw StreamError("its field 'node' is not UTF-8");
  if (welcome.node != target_.node)
    throw StreamError("calls itself '" + welcome.node + "'; two pools share the address");
}

Operate Greeting::operate(const std::string& operator_token) const {
  return {prove(operator_token, Role::operates, nonce_, nodes_nonce_)};
}

StreamError Greeting::named(const std::exception& error) const {
  return StreamError("node " + target_.node + " at " + target_.address + ": " + error.what());
}

RemoteMemory memory_of(const Welcome& welcome) {
  RemoteMemory memory;
  memory.transport = TransportKind::automatic;
  for (const TransportKind kind :
       {TransportKind::verbs, TransportKind::mapped, TransportKind::tcp, TransportKind::shm})
    if (welcome.transport == name_of(kind)) memory.transport = kind;
  if (memory.transport == TransportKind::automatic)
    throw StreamError("its field 'transport' is '" + replace_invalid_utf8(welcome.transport) +
                      "'; allowed: verbs, mapped, tcp, shm");
  if (welcome.address.empty()) throw StreamError("its field 'address' is empty");
  memory.address = welcome.address;
  memory.base = welcome.base;
  memory.bytes = welcome.bytes;
  memory.key = welcome.key;
  return memory;
}

}  // namespace tributary::pool
