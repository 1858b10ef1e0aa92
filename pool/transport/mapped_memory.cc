#include "pool/transport/mapped_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <system_error>

#include "pool/transport/transport.h"

namespace tributary::pool {
namespace {

// The memory that this thread copies from; its signal handler reads it.
thread_local std::atomic<MappedMemory*> copying{nullptr};

// The action for SIGBUS before ours. Handlers may run while it is replaced, so they read a copy
// that stays.
std::atomic<const struct sigaction*> before{nullptr};

// Set while the action before runs, which may know ours as the one before it.
thread_local bool passed_on = false;

// Returns false if there is no action before, or it has passed the fault back.
bool pass_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction* const old = before.load();
  if (old == nullptr || passed_on) return false;
  const bool with_info = (old->sa_flags & SA_SIGINFO) != 0;
  if (!with_info && (old->sa_handler == SIG_DFL || old->sa_handler == SIG_IGN)) return false;
  passed_on = true;
  if (with_info)
    old->sa_sigaction(signal, info, context);
  else
    old->sa_handler(signal);
  passed_on = false;
  return true;
}

}  // namespace

void MappedMemory::on_bus_error(int signal, siginfo_t* info, void* context) {
  MappedMemory* const memory = copying.load(std::memory_order_relaxed);
  const auto* const at = static_cast<const std::byte*>(info->si_addr);
  if (memory != nullptr && at >= memory->bytes_ && at < memory->bytes_ + memory->size_ &&
      mmap(memory->bytes_, memory->size_, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
           0) == memory->bytes_) {
    memory->lost_.store(true, std::memory_order_relaxed);
    return;
  }
  // By default the fault comes again, and ends the process.
  if (!pass_on(signal, info, context)) ::signal(signal, SIG_DFL);
}

// Other libraries may have replaced the action since the last memory was mapped.
void MappedMemory::take_bus_errors() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  struct sigaction now {};
  if (sigaction(SIGBUS, nullptr, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &on_bus_error) return;
  before.store(new struct sigaction(now));  // never freed: a handler may read the one before
  struct sigaction ours {};
  ours.sa_sigaction = &on_bus_error;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGBUS, &ours, nullptr);
}

MappedMemory::MappedMemory(int file, std::uint64_t bytes) : size_(bytes) {
  void* const at = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
  if (at == MAP_FAILED)
    throw TransportError("mapped: mapping the node's memory: " +
                         std::generic_category().message(errno));
  bytes_ = static_cast<std::byte*>(at);
  take_bus_errors();
}

MappedMemory::~MappedMemory() {
  munmap(bytes_, size_);
}

bool MappedMemory::copy(std::uint64_t offset, std::span<std::byte> out) {
  copying.store(this, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (!out.empty()) std::memcpy(out.data(), bytes_ + offset, out.size());
  std::atomic_signal_fence(std::memory_order_seq_cst);
  copying.store(nullptr, std::memory_order_relaxed);
  return !lost_.load(std::memory_order_relaxed);
}

}  // namespace tributary::pool
