#include "manager/api/client.h"

#include <google/protobuf/util/json_util.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <thread>

#include "manager/api/channel.h"
#include "manager/api/manager.grpc.pb.h"
#include "manager/api/pods.grpc.pb.h"

namespace tributary::manager {
namespace {

template <typename Message>
Message from_json(const std::string& text) {
  Message message;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &message);
  if (!status.ok()) throw std::invalid_argument("request: " + status.ToString());
  return message;
}

std::string to_json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) throw std::runtime_error("reply: " + status.ToString());
  return text;
}

constexpr std::chrono::milliseconds kPause{100};     // once no manager has answered
constexpr std::chrono::milliseconds kConnect{1000};  // before the next one is asked

using Clock = std::chrono::system_clock;

// Whether a method that was under way when its manager went away may be called again.
bool may_repeat(const std::string& method) {
  static const std::set<std::string> kOnce = {"Jobs.Submit", "Jobs.Cancel", "Pods.Create",
                                              "Pods.Delete"};
  return !kOnce.contains(method);
}

ManagerError error_of(const grpc::Status& status, const Target& target) {
  return {name_of(status.error_code()), describe(status, target)};
}

bool is_away(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE && status.error_details().empty();
}

// The reason why a channel has no connection. A manager that has come meanwhile has nothing to
// decide.
grpc::Status problem_of(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  context.set_deadline(Clock::now() + kPause);
  v1::Job none;
  const grpc::Status status = v1::Jobs::NewStub(channel)->Show(&context, {}, &none);
  if (is_away(status)) return status;
  return {grpc::StatusCode::UNAVAILABLE, "it does not answer the connection attempt"};
}

bool is_readable(int descriptor) {
  pollfd one{descriptor, POLLIN, 0};
  return ::poll(&one, 1, 0) > 0;
}

// Cancels a call once the descriptor can be read, as long as it lives.
class CancelOn {
 public:
  CancelOn(int stop, grpc::ClientContext& context) {
    if (stop < 0) return;
    over_ = ::eventfd(0, EFD_CLOEXEC);
    if (over_ < 0) throw std::runtime_error("no eventfd for a call to the manager");
    thread_ = std::thread([stop, over = over_, &context] {
      std::array<pollfd, 2> waits = {{{stop, POLLIN, 0}, {over, POLLIN, 0}}};
      while (::poll(waits.data(), waits.size(), -1) < 0) {
      }
      if (waits[0].revents != 0) context.TryCancel();
    });
  }
  ~CancelOn() {
    if (over_ < 0) return;
    ::eventfd_write(over_, 1);
    if (thread_.joinable()) thread_.join();
    ::close(over_);
  }
  CancelOn(const CancelOn&) = delete;
  CancelOn& operator=(const CancelOn&) = delete;

 private:
  int over_ = -1;
  std::thread thread_;
};

}  // namespace

struct Client::Inside {
  Inside(const Target& to, int descriptor) : managers(to), stop(descriptor) {}

  void check_stop() const {
    if (stop >= 0 && is_readable(stop))
      throw ManagerError(name_of(grpc::StatusCode::CANCELLED), "the caller ends");
  }

  // False: there is no connection at that time.
  [[nodiscard]] bool connect(const std::shared_ptr<grpc::Channel>& channel,
                             Clock::time_point until) const {
    if (stop < 0) return channel->WaitForConnected(until);
    for (;;) {
      check_stop();
      const auto now = Clock::now();
      if (channel->WaitForConnected(std::min(until, now + kPause))) return true;
      if (now + kPause >= until) return false;
    }
  }

  // Calls `once(channel, end)`, which gives a grpc::Status, at one manager after the other, until
  // one has answered.
  template <typename Once>
  void ask(bool repeat, Duration timeout, Once once) {
    const bool alone = managers.size() == 1;
    const auto end = Clock::now() + std::chrono::nanoseconds(timeout.to_ns());
    for (std::size_t asked = 1;; ++asked) {
      const auto& channel = managers.channel();
      const auto until = alone ? end : std::min(end, Clock::now() + kConnect);
      // One that cannot be reached has not decided.
      const bool reached = connect(channel, until);
      const grpc::Status status =
          reached ? once(channel, end) : grpc::Status(grpc::StatusCode::UNAVAILABLE, "");
      if (status.ok()) return;
      if (reached && !repeat && is_away(status)) throw undecided(status);
      const bool over = Clock::now() + kPause >= end;
      if (over && is_away(status))
        throw ManagerError(name_of(grpc::StatusCode::DEADLINE_EXCEEDED),
                           describe(reached ? status : problem_of(channel), managers.target()));
      const bool goes_on = is_away(status) || (is_not_leading(status) && !alone);
      if (over || !goes_on) throw error_of(status, managers.target());
      managers.go_on();
      if (asked % managers.size() == 0) std::this_thread::sleep_for(kPause);
    }
  }

  [[nodiscard]] ManagerError undecided(const grpc::Status& status) const {
    return {"UNKNOWN", "the manager at " + managers.target().address +
                           " went away, and may have decided; look before you try again: " +
                           status.error_message()};
  }

  template <typename Stub, typename Request, typename Reply>
  std::string unary(std::unique_ptr<Stub> (*stub_of)(const std::shared_ptr<grpc::ChannelInterface>&,
                                                     const grpc::StubOptions&),
                    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
                    const std::string& name, const std::string& request, Duration timeout) {
    const auto message = from_json<Request>(request);
    Reply reply;
    ask(may_repeat(name), timeout, [&](const auto& channel, Clock::time_point end) {
      grpc::ClientContext context;
      context.set_deadline(end);
      const CancelOn cancel(stop, context);
      return ((*stub_of(channel, {})).*method)(&context, message, &reply);
    });
    return to_json(reply);
  }

  Managers managers;
  const int stop;
};

Client::Client(const Target& target, int stop) : inside_(std::make_unique<Inside>(target, stop)) {}
Client::~Client() = default;

std::string Client::call(const std::string& method, const std::string& request, Duration timeout) {
  Inside& in = *inside_;
  const auto jobs = [&](auto rpc) {
    return in.unary(&v1::Jobs::NewStub, rpc, method, request, timeout);
  };
  const auto cluster = [&](auto rpc) {
    return in.unary(&v1::Cluster::NewStub, rpc, method, request, timeout);
  };
  const auto pods = [&](auto rpc) {
    return in.unary(&v1::Pods::NewStub, rpc, method, request, timeout);
  };
  using J = v1::Jobs::Stub;
  using C = v1::Cluster::Stub;
  using P = v1::Pods::Stub;
  if (method == "Jobs.Submit") return jobs(&J::Submit);
  if (method == "Jobs.List") return jobs(&J::List);
  if (method == "Jobs.Show") return jobs(&J::Show);
  if (method == "Jobs.Cancel") return jobs(&J::Cancel);
  if (method == "Cluster.Topology") return cluster(&C::Topology);
  if (method == "Cluster.Drain") return cluster(&C::Drain);
  if (method == "Cluster.Move") return cluster(&C::Move);
  if (method == "Cluster.Stragglers") return cluster(&C::Stragglers);
  if (method == "Cluster.Events") return cluster(&C::Events);
  if (method == "Pods.Create") return pods(&P::Create);
  if (method == "Pods.List") return pods(&P::List);
  if (method == "Pods.Show") return pods(&P::Show);
  if (method == "Pods.Wait") return pods(&P::Wait);
  if (method == "Pods.Delete") return pods(&P::Delete);
  if (method == "Pods.Logs") return pods(&P::Logs);
  if (method == "Pods.Nodes") return pods(&P::Nodes);
  throw std::invalid_argument("no method is called " + method);
}

void Client::watch(const std::string& job, const std::function<bool(const std::string&)>& sink,
                   Duration timeout) {
  v1::ShowRequest request;
  request.set_name(job);
  inside_->ask(true, timeout, [&](const auto& channel, Clock::time_point end) {
    grpc::ClientContext context;
    context.set_deadline(end);
    const CancelOn cancel(inside_->stop, context);
    const auto stub = v1::Jobs::NewStub(channel);
    const auto reader = stub->Watch(&context, request);
    v1::Job reply;
    while (reader->Read(&reply)) {
      if (sink(to_json(reply))) continue;
      context.TryCancel();
      static_cast<void>(reader->Finish());
      return grpc::Status::OK;
    }
    return reader->Finish();
  });
}

}  // namespace tributary::manager
