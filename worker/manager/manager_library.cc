#include "worker/manager/manager_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>

namespace tributary::worker {
namespace {

constexpr const char* kFile = "libtributary-manager.so.0";

// That of libtributary, of the Python module, or of a program with the library in it, whose name
// may be any text that its parent chose.
std::filesystem::path own_folder() {
  Dl_info own{};
  const bool known = ::dladdr(reinterpret_cast<const void*>(&ask_manager), &own) != 0;
  std::error_code error;
  std::filesystem::path file = known && own.dli_fname != nullptr ? own.dli_fname : "";
  if (!file.is_absolute()) file = std::filesystem::read_symlink("/proc/self/exe", error);
  return file.parent_path();
}

// Where a build (CMake's or meson's) and a prefix have it; else where the loader looks.
std::string path_of_library() {
  const auto folder = own_folder();
  std::error_code error;
  for (const char* there : {".", "../lib", "../../lib", "../manager/api", "../../../manager/api"}) {
    const auto path = folder / there / kFile;
    if (path.is_absolute() && std::filesystem::exists(path, error)) return path;
  }
  return kFile;
}

void* library() {
  static void* const handle = ::dlopen(path_of_library().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw std::runtime_error(std::string("manager: ") + kFile +
                             " cannot be loaded; it is part of the package tributary, and a build "
                             "has it with the option `manager`");
  return handle;
}

template <typename Function>
Function* function(const char* name) {
  void* const found = ::dlsym(library(), name);
  if (found == nullptr)
    throw std::runtime_error(std::string("manager: ") + kFile + " has no " + name +
                             "; install the version of libtributary");
  return reinterpret_cast<Function*>(found);
}

std::string reply_of(const char* name, const std::string& request) {
  const auto ask = function<char*(const char*)>(name);
  const auto release = function<void(char*)>("tributary_manager_free");
  const std::unique_ptr<char, void (*)(char*)> reply(ask(request.c_str()), release);
  if (reply == nullptr) throw std::bad_alloc();
  return reply.get();
}

}  // namespace

std::string ask_manager(const std::string& request) {
  return reply_of("tributary_manager_wait", request);
}

std::string call_manager(const std::string& request) {
  return reply_of("tributary_manager_call", request);
}

}  // namespace tributary::worker
