#include "worker/api/environment.h"

#include <charconv>
#include <stdexcept>
#include <string_view>

#include "worker/transport/address_list.h"

namespace tributary::worker {
namespace {

struct Launcher {
  const char* rank;
  const char* size;
};
constexpr Launcher kLaunchers[] = {
    {"RANK", "WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
};

std::uint32_t number(const char* name, const char* text) {
  const std::string_view view = text;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || end != view.data() + view.size() || view.empty())
    throw std::invalid_argument(std::string(name) + " is '" + text +
                                "' in the environment; it is to be a number");
  return value;
}

void take_place(CommunicatorOptions& options, const Environment& environment) {
  std::string known;
  for (const Launcher& launcher : kLaunchers) {
    known += std::string(known.empty() ? "" : ", ") + launcher.rank + " and " + launcher.size;
    const char* const rank = environment(launcher.rank);
    const char* const size = environment(launcher.size);
    if (rank == nullptr && size == nullptr) continue;
    if (rank == nullptr || size == nullptr)
      throw std::invalid_argument(
          std::string("the environment has ") + (rank == nullptr ? launcher.size : launcher.rank) +
          " and not " + (rank == nullptr ? launcher.rank : launcher.size) + "; give rank and size");
    options.rank = number(launcher.rank, rank);
    options.size = number(launcher.size, size);
    return;
  }
  throw std::invalid_argument("size is 0, and the environment has no launcher's rank and size (" +
                              known + ")");
}

double seconds(const char* name, const char* text) {
  const std::string_view view = text;
  double value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || end != view.data() + view.size() || !(value > 0 && value <= 1e6))
    throw std::invalid_argument(std::string(name) + " is '" + text +
                                "' in the environment; it is to be a number of seconds, above 0 "
                                "and at most 1000000");
  return value;
}

void take_retry(CommunicatorOptions& options, const Environment& environment) {
  const char* const text = environment("TRIBUTARY_RETRY");
  const std::string_view retry = text == nullptr ? "" : text;
  if (!retry.empty() && retry != "none" && retry != "ops")
    throw std::invalid_argument("TRIBUTARY_RETRY is '" + std::string(retry) +
                                "' in the environment; allowed: none, ops");
  options.retry = retry == "ops" ? Retry::ops : Retry::none;
  const char* const limit = environment("TRIBUTARY_RETRY_TIMEOUT");
  if (options.retry == Retry::ops && limit != nullptr)
    options.retry_timeout =
        Duration::ns(static_cast<std::int64_t>(seconds("TRIBUTARY_RETRY_TIMEOUT", limit) * 1e9));
}

void take_address_bits(CommunicatorOptions& options, const Environment& environment) {
  const char* const text = environment("TRIBUTARY_ADDRESS_BITS");
  if (text == nullptr || *text == '\0' || split_addresses(options.address).size() < 2) return;
  try {
    options.address_bits = address_bits_of(text);
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument(std::string("TRIBUTARY_ADDRESS_BITS of the environment: ") +
                                e.what());
  }
}

// Throws if options do not go together with a manager, or lack one.
void check_managed(const CommunicatorOptions& options) {
  const ManagedJob& managed = options.managed;
  if (managed.manager.empty()) {
    if (!managed.name.empty() || !managed.request.empty() || !managed.worker.empty())
      throw std::invalid_argument(
          "name, request and worker of a job are a manager's; allowed: manager as well");
    return;
  }
  if (options.open.by != Open::never)
    throw std::invalid_argument("a manager says which jobs there are; allowed: without open");
  if (options.job != 0 || !options.address.empty())
    throw std::invalid_argument("the manager says job and address; allowed: without them");
}

}  // namespace

CommunicatorOptions with_manager(CommunicatorOptions options, const Environment& environment,
                                 const std::function<std::string(const std::string&)>& ask) {
  check_managed(options);
  if (options.managed.manager.empty()) return options;
  if (options.size != 0) options.managed.rank = options.rank;
  const auto place =
      place_of(options.managed, {ask, environment, options.cancelled}, options.join_timeout);
  if (!place)
    throw CommunicatorError(wire::Reason::none, {},
                            "job " + options.managed.name + ": cancelled while it waits for " +
                                options.managed.manager);
  if (options.size != 0 && options.size != place->size)
    throw std::invalid_argument("size is " + std::to_string(options.size) + ", and job " +
                                options.managed.name + " has " + std::to_string(place->size) +
                                " ranks; allowed: that, or 0");
  options.job = place->job;
  options.rank = place->rank;
  options.size = place->size;
  options.address = place->address;
  return options;
}

CommunicatorOptions with_environment(CommunicatorOptions options, const Environment& environment) {
  if (options.size == 0) take_place(options, environment);
  if (options.address.empty()) {
    const char* const address = environment("TRIBUTARY_ADDRESS");
    if (address == nullptr || *address == '\0')
      throw std::invalid_argument("address is empty, and TRIBUTARY_ADDRESS is not set");
    options.address = address;
  }
  if (const char* const run = environment("TRIBUTARY_RUN"); run != nullptr && options.run.empty())
    options.run = run;
  if (options.retry == Retry::by_environment) take_retry(options, environment);
  if (options.address_bits == AddressBits{}) take_address_bits(options, environment);
  constexpr std::string_view kRank = "{rank}";
  for (std::size_t at; (at = options.address.find(kRank)) != std::string::npos;)
    options.address.replace(at, kRank.size(), std::to_string(options.rank));
  return options;
}

}  // namespace tributary::worker
