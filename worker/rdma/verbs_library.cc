#include "worker/rdma/verbs_library.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace tributary::worker {
namespace {

void* open(const char* name) {
  void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw std::runtime_error(std::string("rdma transport: cannot load ") + name + ": " +
                             ::dlerror() + "; install rdma-core's libraries");
  return library;
}

template <typename Function>
Function find(void* library, const char* name) {
  void* const found = ::dlsym(library, name);
  if (found == nullptr)
    throw std::runtime_error(std::string("rdma transport: rdma-core has no ") + name);
  return reinterpret_cast<Function>(found);
}

VerbsLibrary load() {
  void* const ibverbs = open("libibverbs.so.1");
  void* const rdmacm = open("librdmacm.so.1");
  VerbsLibrary loaded;
#define X(library, function) loaded.function##_ = find<decltype(&::function)>(library, #function);
  TRIBUTARY_VERBS(X)
#undef X
  return loaded;
}

}  // namespace

const VerbsLibrary& VerbsLibrary::get() {
  static const VerbsLibrary library = load();
  return library;
}

}  // namespace tributary::worker
