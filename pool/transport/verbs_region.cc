#include "pool/transport/verbs_region.h"

#include <fcntl.h>

#include <string>

#include "pool/transport/verbs.h"

namespace tributary::pool {

namespace {

// An int: ibv_reg_mr() is a macro that combines it with flags of another enumeration.
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE;

}  // namespace

const VerbsMemory& libibverbs() {
  static const VerbsMemory calls = {
      [](ibv_context* device) { return ibv_alloc_pd(device); },
      [](ibv_pd* domain) { ibv_dealloc_pd(domain); },
      [](ibv_pd* domain, std::span<std::byte> bytes) {
        return ibv_reg_mr(domain, bytes.data(), bytes.size(), kAccess);
      },
      [](ibv_pd* domain, const DeviceBuffer& memory) {
        return ibv_reg_dmabuf_mr(domain, memory.offset, memory.bytes.size(),
                                 reinterpret_cast<std::uintptr_t>(memory.bytes.data()),
                                 memory.dmabuf, kAccess);
      },
      [](ibv_mr* region) { ibv_dereg_mr(region); },
      [](const ibv_mr* region) { return region->lkey; },
  };
  return calls;
}

Registry::Place Registry::add(const DeviceBuffer& memory, bool host) {
  Buffer buffer{memory, File(), host, {}};
  if (memory.dmabuf >= 0) {  // the caller closes its own file
    buffer.dmabuf = File(fcntl(memory.dmabuf, F_DUPFD_CLOEXEC, 0));
    buffer.memory.dmabuf = buffer.dmabuf.get();
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [_, domain] : domains_) register_with(domain.get(), buffer);
  buffers_.push_front(std::move(buffer));
  return buffers_.begin();
}

void Registry::remove(Place at) {
  const std::lock_guard lock(mutex_);
  buffers_.erase(at);
}

ibv_pd* Registry::domain_of(ibv_context* device) {
  const std::lock_guard lock(mutex_);
  const auto known = domains_.find(device);
  if (known != domains_.end()) return known->second.get();
  std::unique_ptr<ibv_pd, Close> domain(calls_.open(device), Close{calls_.close});
  if (!domain) fail_verbs("verbs: protection domain");
  for (Buffer& buffer : buffers_) register_with(domain.get(), buffer);
  return domains_.emplace(device, std::move(domain)).first->second.get();
}

void Registry::register_with(ibv_pd* domain, Buffer& buffer) {
  ibv_mr* region = nullptr;
  if (buffer.memory.dmabuf >= 0) region = calls_.add_dmabuf(domain, buffer.memory);
  if (region == nullptr) region = calls_.add(domain, buffer.memory.bytes);
  if (region == nullptr && buffer.host)
    fail_verbs("verbs: registering a target of " + std::to_string(buffer.memory.bytes.size()) +
               " bytes (is the limit on locked memory high enough?)");
  if (region != nullptr)
    buffer.regions.emplace(domain, std::unique_ptr<ibv_mr, Remove>(region, {calls_.remove}));
}

const Registry::Buffer* Registry::find(std::span<const std::byte> part) const {
  for (const Buffer& buffer : buffers_) {
    const std::span<std::byte> all = buffer.memory.bytes;
    if (part.data() >= all.data() && part.data() + part.size() <= all.data() + all.size())
      return &buffer;
  }
  return nullptr;
}

std::uint32_t Registry::key_of(ibv_pd* domain, std::span<const std::byte> part) const {
  const std::lock_guard lock(mutex_);
  const Buffer* const buffer = find(part);
  if (buffer == nullptr || !buffer->regions.contains(domain))
    throw TransportError("verbs: the target is not registered; register_buffer() it first");
  return calls_.key(buffer->regions.at(domain).get());
}

bool Registry::reaches(ibv_pd* domain, std::span<const std::byte> part) const {
  const std::lock_guard lock(mutex_);
  const Buffer* const buffer = find(part);
  return buffer != nullptr && !buffer->host && buffer->regions.contains(domain);
}

}  // namespace tributary::pool
