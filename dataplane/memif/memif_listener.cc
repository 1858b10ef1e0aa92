#include "dataplane/memif/memif_listener.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "dataplane/memif/memif_refusal.h"
#include "dataplane/memif/memif_socket.h"
#include "dataplane/memif/result_region.h"

namespace tributary::dataplane {
namespace {

namespace memif = worker::memif;

constexpr int kBacklog = 64;

memif::Message message(memif::MessageType type) {
  memif::Message m{};
  m.type = type;
  return m;
}

void say_goodbye(int socket, const std::string& why) {
  memif::Message bye = message(memif::MessageType::disconnect);
  why.copy(bye.disconnect.text.data(), bye.disconnect.text.size() - 1);
  send_memif(socket, bye);
}

ucred peer_of(int socket) {
  ucred peer{.pid = 0, .uid = static_cast<uid_t>(-1), .gid = static_cast<gid_t>(-1)};
  socklen_t bytes = sizeof peer;
  ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes);
  return peer;
}

// The process that connected; none where it cannot be seen from here.
worker::FileDescriptor process_behind(int socket) {
  const pid_t process = peer_of(socket).pid;
  if (process <= 0) return {};
  return worker::FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

}  // namespace

MemifListener::MemifListener(const MemifSettings& settings, MemifClientCounters& counters)
    : path_(settings.socket),
      abstract_(settings.abstract),
      counters_(counters),
      socket_(bind_memif_socket(path_, abstract_)) {}

MemifListener::~MemifListener() {
  if (!abstract_) ::unlink(path_.c_str());
}

bool MemifListener::serves(std::uint32_t id) const {
  return std::any_of(ports_.begin(), ports_.end(),
                     [&](const MemifPort* port) { return port->settings().id == id; });
}

bool MemifListener::has_device(const std::string& name) const {
  return std::any_of(ports_.begin(), ports_.end(),
                     [&](const MemifPort* port) { return port->settings().device == name; });
}

MemifPort* MemifListener::find(std::uint32_t id) const {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const MemifPort* port) { return port->settings().id == id; });
  return found == open_.end() ? nullptr : *found;
}

// A port with a secret is for the client that has it; the library makes one ring each way.
const MemifPort* MemifListener::find_free() const {
  const auto is_asked_for = [&](std::uint32_t id) {
    return std::any_of(clients_.begin(), clients_.end(),
                       [&](const Client& one) { return one.handshake.id() == id; });
  };
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const MemifPort* port) {
    const MemifSettings& settings = port->settings();
    return !port->connected() && port->queues() == 1 &&
           settings.secret == decltype(settings.secret){} && !is_asked_for(settings.id);
  });
  return found == open_.end() ? nullptr : *found;
}

void MemifListener::open(MemifPort& port) {
  open_.push_back(&port);
  if (open_.size() == 1 && ::listen(socket_.get(), kBacklog) != 0)
    throw std::system_error(errno, std::generic_category());
}

void MemifListener::remove(MemifPort& port) {
  disconnect(port, "the port is closed");
  std::erase(ports_, &port);
  std::erase(open_, &port);
}

void MemifListener::disconnect(const MemifPort& port, const std::string& why) {
  const auto client = std::find_if(clients_.begin(), clients_.end(),
                                   [&](const Client& one) { return one.port == &port; });
  if (client == clients_.end()) return;
  say_goodbye(client->socket.get(), why);
  end(client, false);
}

void MemifListener::list(std::vector<int>& descriptors) const {
  if (!open_.empty() && !short_) descriptors.push_back(socket_.get());
  for (const Client& client : clients_) {
    descriptors.push_back(client.socket.get());
    if (client.process) descriptors.push_back(client.process.get());
  }
}

void MemifListener::handle(const std::vector<int>& ready) {
  const auto is_ready = [&](int descriptor) {
    return std::find(ready.begin(), ready.end(), descriptor) != ready.end();
  };
  // Clients that go make room for those that come.
  for (auto client = clients_.begin(); client != clients_.end();) {
    if (client->process && is_ready(client->process.get()))
      client = end(client, true);
    else
      client = is_ready(client->socket.get()) ? read(client) : std::next(client);
  }
  for (const Client& client : clients_)
    if (client.port != nullptr) pass_offers(client);
  short_ = false;
  if (!open_.empty()) accept_all();
}

// One that does not read its socket gets copies.
void MemifListener::pass_offers(const Client& client) {
  for (const auto& results : client.port->take_offers()) {
    memif::Message share = message(memif::MessageType::share);
    share.share = results->share();
    if (!send_memif(client.socket.get(), share, results->memory())) return;
  }
}

void MemifListener::accept_all() {
  for (int i = 0; i < kBacklog; ++i) {
    worker::FileDescriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) {
      short_ = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
      return;
    }
    greet(std::move(socket));
  }
}

void MemifListener::greet(worker::FileDescriptor socket) {
  if (!send_memif(socket.get(), MemifHandshake::hello())) return counters_.gone.add();
  make_room();
  const auto find_door = [this](std::uint32_t id) -> std::optional<MemifDoor> {
    const MemifPort* port = find(id);
    if (port == nullptr && id == memif::kAnyId) port = find_free();
    if (port == nullptr) return std::nullopt;
    return port->door();
  };
  const uid_t user = peer_of(socket.get()).uid;
  clients_.push_back({std::move(socket), MemifHandshake(find_door), nullptr, {}, user});
}

void MemifListener::make_room() {
  const auto unfinished = [](const Client& client) { return client.port == nullptr; };
  const auto count = std::count_if(clients_.begin(), clients_.end(), unfinished);
  if (static_cast<std::size_t>(count) < kMostUnfinished) return;
  refuse(std::find_if(clients_.begin(), clients_.end(), unfinished),
         "too many clients are not connected yet");
}

MemifListener::Clients::iterator MemifListener::read(Clients::iterator client) {
  memif::Message said;
  worker::FileDescriptor passed;
  const MemifReceived received = receive_memif(client->socket.get(), said, passed);
  if (received == MemifReceived::nothing) return std::next(client);
  const bool leaves =
      received == MemifReceived::message && said.type == memif::MessageType::disconnect;
  if (received == MemifReceived::ended || leaves) return end(client, true);
  try {
    if (received == MemifReceived::nonsense) throw MemifRefusal("a packet that is no message");
    take(*client, said, std::move(passed));
  } catch (const MemifRefusal& refusal) {
    return refuse(client, refusal.what());
  }
  return std::next(client);
}

void MemifListener::take(Client& client, const memif::Message& said,
                         worker::FileDescriptor passed) {
  if (client.port != nullptr) {
    if (said.type != memif::MessageType::ack) throw MemifRefusal("a message after CONNECT");
    return client.port->note_mapped(said.share.region);
  }
  if (!client.handshake.take(said, std::move(passed))) return;
  if (client.handshake.complete()) return connect(client);
  memif::Message ack = message(memif::MessageType::ack);
  if (said.type == memif::MessageType::init) ack.told = client.handshake.told();
  if (!send_memif(client.socket.get(), ack)) throw MemifRefusal("the client does not read");
}

void MemifListener::connect(Client& client) {
  MemifPort* const port = find(*client.handshake.id());
  if (port == nullptr) throw MemifRefusal("ID not found");
  if (port->connected()) throw MemifRefusal("Already connected");
  check_user(client, *port);
  port->accept(client.handshake.take_offer());
  client.port = port;
  if (client.handshake.by_library()) client.process = process_behind(client.socket.get());
  memif::Message connected = message(memif::MessageType::connected);
  port->settings().device.copy(connected.connect.interface_name.data(),
                               connected.connect.interface_name.size() - 1);
  if (!send_memif(client.socket.get(), connected)) throw MemifRefusal("the client does not read");
}

void MemifListener::check_user(const Client& client, const MemifPort& port) const {
  const std::uint32_t limit = port.settings().per_user;
  if (limit == 0) return;
  const auto held = std::count_if(clients_.begin(), clients_.end(), [&](const Client& one) {
    return one.port != nullptr && one.user == client.user;
  });
  if (static_cast<std::uint32_t>(held) < limit) return;
  throw MemifRefusal("user " + std::to_string(client.user) + " has " + std::to_string(held) +
                     " ports of this socket; per-user=" + std::to_string(limit));
}

MemifListener::Clients::iterator MemifListener::end(Clients::iterator client, bool itself) {
  if (client->port != nullptr)
    client->port->leave(itself && client->handshake.by_library());
  else
    counters_.gone.add();
  return clients_.erase(client);
}

MemifListener::Clients::iterator MemifListener::refuse(Clients::iterator client,
                                                       const std::string& why) {
  say_goodbye(client->socket.get(), why);
  counters_.refused.add();
  MemifPort* const port = client->handshake.id() ? find(*client->handshake.id()) : nullptr;
  if (port != nullptr) port->note_refusal(why);
  if (client->port != nullptr) client->port->leave(false);
  return clients_.erase(client);
}

}  // namespace tributary::dataplane
