#include "completion/model/checkpoint.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/net/checksum.h"

namespace tributary::completion {
namespace {

static_assert(std::endian::native == std::endian::little, "as the wire's elements are");

constexpr std::array<char, 8> kMagic = {'T', 'R', 'I', 'B', 'M', 'O', 'D', 'L'};
constexpr std::uint32_t kCheckpointVersion = 1;

struct Head {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t job;
  std::uint64_t step;
  std::uint32_t optimizer;
  std::uint32_t planes;
  std::uint32_t arrays;
  std::uint32_t zero;
};
static_assert(sizeof(Head) == 40);

std::size_t head_bytes(const config::OptimizerConfig& optimizer) {
  return sizeof(Head) + (optimizer.parameters.size() + 1) / 2 * 8;
}
std::uint64_t value_bytes(const config::OptimizerConfig& optimizer) {
  return config::elements_of(optimizer) * config::planes_of(optimizer) * sizeof(float);
}

std::string told(const char* what, std::uint64_t there, std::uint64_t here) {
  std::string text = what;
  text += ' ';
  text += std::to_string(there);
  text += "; allowed: ";
  text += std::to_string(here);
  return text;
}

// The head's first difference from the configuration; empty if there is none.
std::string difference(const Head& head, const Head& wanted) {
  if (head.magic != kMagic) return "is no checkpoint: it does not begin with TRIBMODL";
  if (head.version != wanted.version) return told("has format", head.version, wanted.version);
  if (head.job != wanted.job) return told("is of job", head.job, wanted.job);
  if (head.optimizer != wanted.optimizer)
    return "is of another optimizer; allowed: the configured one";
  if (head.planes != wanted.planes)
    return told("has values for each parameter:", head.planes, wanted.planes);
  if (head.arrays != wanted.arrays)
    return told("has arrays of parameters:", head.arrays, wanted.arrays);
  return head.zero == 0 ? "" : "has a head that no writer makes";
}

}  // namespace

std::uint64_t checkpoint_bytes(const config::OptimizerConfig& optimizer) {
  return head_bytes(optimizer) + value_bytes(optimizer) + sizeof(std::uint32_t);
}

std::vector<std::byte> checkpoint_head(std::uint32_t job, const config::OptimizerConfig& optimizer,
                                       std::uint64_t step) {
  const Head head = {kMagic,
                     kCheckpointVersion,
                     job,
                     step,
                     static_cast<std::uint32_t>(optimizer.kind),
                     static_cast<std::uint32_t>(config::planes_of(optimizer)),
                     static_cast<std::uint32_t>(optimizer.parameters.size()),
                     0};
  std::vector<std::byte> bytes(head_bytes(optimizer));
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, optimizer.parameters.data(),
              optimizer.parameters.size() * sizeof(std::uint32_t));
  return bytes;
}

std::uint32_t checkpoint_crc(std::span<const std::byte> head, std::span<const std::byte> values) {
  return wire::crc32c(values, wire::crc32c(head));
}

std::variant<Checkpoint, std::string> read_checkpoint(std::span<const std::byte> bytes,
                                                      std::uint32_t job,
                                                      const config::OptimizerConfig& optimizer) {
  Head head;
  if (bytes.size() < sizeof head) return told("is truncated, bytes:", bytes.size(), sizeof head);
  std::memcpy(&head, bytes.data(), sizeof head);
  const auto wanted_bytes = checkpoint_head(job, optimizer, head.step);
  Head wanted;
  std::memcpy(&wanted, wanted_bytes.data(), sizeof wanted);
  if (std::string why = difference(head, wanted); !why.empty()) return why;
  if (bytes.size() != checkpoint_bytes(optimizer))
    return told(
        bytes.size() < checkpoint_bytes(optimizer) ? "is truncated, bytes:" : "is too long, bytes:",
        bytes.size(), checkpoint_bytes(optimizer));
  if (!std::equal(wanted_bytes.begin(), wanted_bytes.end(), bytes.begin()))
    return "has arrays of other lengths; allowed: those of optimizer.parameters";
  const auto values = bytes.subspan(wanted_bytes.size(), value_bytes(optimizer));
  std::uint32_t crc = 0;
  std::memcpy(&crc, bytes.data() + bytes.size() - sizeof crc, sizeof crc);
  if (crc != checkpoint_crc(wanted_bytes, values)) return "is damaged: its CRC32C is wrong";
  return Checkpoint{head.step, values};
}

}  // namespace tributary::completion
