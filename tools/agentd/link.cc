#include "tools/agentd/link.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "manager/api/channel.h"
#include "manager/api/manager.grpc.pb.h"
#include "tools/agentd/local_switch.h"
#include "tools/daemon/log.h"

namespace tributary::agentd {
namespace {

namespace v1 = manager::v1;

constexpr std::chrono::milliseconds kTurn{500};      // between looks at the switch
constexpr Duration kAnswer = Duration::seconds(60);  // a document may open devices

v1::SwitchMessage message_of(const manager::SwitchRegistration& from, std::uint64_t highest_term) {
  v1::SwitchMessage message;
  v1::Registration& to = *message.mutable_registration();
  to.set_name(from.name);
  to.set_id(from.id);
  to.set_address(from.address);
  for (const std::string& port : from.ports) to.add_ports(port);
  to.set_version(from.program);
  to.set_slots(static_cast<std::uint32_t>(from.slots));
  to.set_bytes(from.bytes);
  to.set_highest_term(highest_term);
  return message;
}

void fill(const manager::Lateness& from, v1::Lateness& to) {
  to.set_job(from.job);
  to.mutable_ranks()->Add(from.ranks.begin(), from.ranks.end());
  to.set_is_switch(from.is_switch);
  to.set_ops(from.ops);
  to.set_mean_ms(from.mean_ms);
  to.set_max_ms(from.max_ms);
  to.set_last_ms(from.last_ms);
  to.set_missed_deadlines(from.missed_deadlines);
  to.set_excluded(from.excluded);
  if (from.first) to.set_first(*from.first);
  if (from.last) to.set_last(*from.last);
}

v1::SwitchMessage message_of(const manager::SwitchReport& from) {
  v1::SwitchMessage message;
  v1::Report& to = *message.mutable_report();
  to.set_term(from.applied.term);
  to.set_revision(from.applied.revision);
  for (const auto& [id, present] : from.jobs) {
    v1::JobInForce& job = *to.add_jobs();
    job.set_id(id);
    job.set_present(present);
  }
  to.set_problem(from.problem);
  to.set_refused(from.refused);
  to.set_refused_revision(from.refused_revision);
  if (from.load) to.set_bytes_per_second(*from.load);
  if (from.seats) {
    v1::HostSeats& seats = *to.mutable_hosts();
    for (const manager::HostSeat& seat : *from.seats) {
      v1::HostSeat& one = *seats.add_seats();
      one.set_job(seat.job);
      one.set_shard(seat.shard);
      one.set_host(seat.host);
      one.set_state(seat.state);
      one.set_chosen(seat.chosen);
    }
  }
  if (from.neighbours) {
    v1::Neighbours& heard = *to.mutable_neighbours();
    for (const manager::Neighbour& neighbour : *from.neighbours) {
      v1::Neighbour& one = *heard.add_neighbours();
      one.set_port(neighbour.port);
      one.set_system(neighbour.system);
      one.set_its_port(neighbour.its_port);
    }
  }
  if (from.lateness) {
    v1::Children& children = *to.mutable_lateness();
    for (const manager::Lateness& child : *from.lateness) fill(child, *children.add_children());
  }
  return message;
}

}  // namespace

struct Link::Inside {
  Inside(const manager::Target& to, std::string path, std::string documents, Terms& all)
      : managers(to),
        socket(std::move(path)),
        folder(std::move(documents)),
        terms(all),
        thread([this] { run(); }) {}

  void run();
  void serve(LocalSwitch& local);
  void read(grpc::ClientReaderWriter<v1::SwitchMessage, v1::Document>& stream, LocalSwitch& local);
  bool take(v1::Document& document, LocalSwitch& local);
  void report_until_over(grpc::ClientReaderWriter<v1::SwitchMessage, v1::Document>& stream,
                         LocalSwitch& local);
  // False: it is to end.
  bool rest(std::chrono::milliseconds most = kTurn) {
    std::unique_lock lock(mutex);
    ++turns;
    wake.wait_for(lock, most, [this] { return stopping || news || over; });
    news = false;
    return !stopping;
  }
  // Each text once, until there is another one.
  void tell(LogLevel level, const std::string& text) {
    const std::lock_guard lock(mutex);
    if (std::exchange(told, text) == text) return;
    tools::write_log(level, "switch " + socket + ": " + text);
  }

  manager::Managers managers;  // goes on between two streams
  const std::string socket;
  const std::string folder;
  Terms& terms;
  std::string told;
  std::mutex mutex;
  std::condition_variable wake;
  bool stopping = false;
  bool news = false;  // a document has come
  bool over = false;  // the manager's side of the stream has ended
  std::atomic<std::uint64_t> turns{0};
  std::thread thread;  // last: begins when all else is there
};

// False: the stream is to end.
bool Link::Inside::take(v1::Document& document, LocalSwitch& local) {
  try {
    if (!terms.accept(document.term())) {
      tools::write_log(LogLevel::warning, "switch " + socket + ": refused a document of term " +
                                              std::to_string(document.term()) + "; term " +
                                              std::to_string(terms.highest()) + " was seen");
      return false;
    }
    tell(LogLevel::info, "speaks with the manager at " + managers.target().address + ", term " +
                             std::to_string(document.term()));
    manager::SwitchExclusions exclusions;
    for (const v1::JobExclusions& one : document.exclusions())
      exclusions[one.job()].insert(one.ranks().begin(), one.ranks().end());
    manager::HostOrders hosts;
    for (const v1::JobHosts& one : document.hosts()) {
      manager::HostOrder& order = hosts[one.job()];
      for (const auto& [host, load] : one.loads()) order.loads[host] = load;
      order.candidates.assign(one.candidates().begin(), one.candidates().end());
    }
    local.desire({{document.term(), document.revision()},
                  std::move(*document.mutable_text()),
                  std::move(exclusions),
                  std::move(hosts)});
    return true;
  } catch (const std::exception& error) {
    tools::write_log(LogLevel::error, error.what());
    return false;
  }
}

void Link::Inside::read(grpc::ClientReaderWriter<v1::SwitchMessage, v1::Document>& stream,
                        LocalSwitch& local) {
  v1::Document document;
  while (stream.Read(&document) && take(document, local)) {
    const std::lock_guard lock(mutex);
    news = true;
    wake.notify_all();
  }
  const std::lock_guard lock(mutex);
  over = true;
  wake.notify_all();
}

void Link::Inside::report_until_over(
    grpc::ClientReaderWriter<v1::SwitchMessage, v1::Document>& stream, LocalSwitch& local) {
  do {
    if (!stream.Write(message_of(local.step()))) return;
    const std::lock_guard lock(mutex);
    if (over) return;
  } while (rest());
}

void Link::Inside::serve(LocalSwitch& local) {
  const manager::SwitchRegistration registration = local.look();
  grpc::ClientContext context;
  {
    const std::lock_guard lock(mutex);
    over = news = false;
  }
  const auto agents = v1::Agents::NewStub(managers.channel());
  const auto stream = agents->Attend(&context);
  std::exception_ptr trouble;  // the switch is away, or no thread or memory is left
  std::thread reader;
  if (stream->Write(message_of(registration, terms.highest()))) {
    try {
      reader = std::thread([&] { read(*stream, local); });
      report_until_over(*stream, local);
    } catch (...) {
      trouble = std::current_exception();
    }
  }
  stream->WritesDone();
  {
    const std::lock_guard lock(mutex);
    if (trouble || stopping) context.TryCancel();
  }
  if (reader.joinable()) reader.join();
  const grpc::Status status = stream->Finish();
  if (trouble) std::rethrow_exception(trouble);
  if (!status.ok() && status.error_code() != grpc::StatusCode::CANCELLED &&
      !manager::is_not_leading(status))
    tell(LogLevel::warning, manager::describe(status, managers.target()));
  managers.go_on();
}

void Link::Inside::run() {
  LocalSwitch local(
      [this](const client::Json& request) { return client::ask_switch(socket, request, kAnswer); },
      folder,
      [] {
        const auto since = std::chrono::steady_clock::now().time_since_epoch();
        return Instant::from_ns(
            std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
      });
  do {
    try {
      serve(local);
    } catch (const client::ControlError& error) {
      tell(LogLevel::warning, error.what());
    } catch (const std::exception& error) {
      tell(LogLevel::error, error.what());
    }
    const std::lock_guard lock(mutex);
    over = news = false;
  } while (rest());
}

Link::Link(const manager::Target& target, std::string socket, std::string folder, Terms& terms)
    : inside_(std::make_unique<Inside>(target, std::move(socket), std::move(folder), terms)) {}

Link::~Link() {
  {
    const std::lock_guard lock(inside_->mutex);
    inside_->stopping = true;
  }
  inside_->wake.notify_all();
  inside_->thread.join();
}

std::uint64_t Link::turns() const {
  return inside_->turns;
}

}  // namespace tributary::agentd
