#include "tools/client/helper_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>

namespace tributary::client {
namespace {

// Beside this program, as a build (CMake's or meson's) and a prefix have it; else where the loader
// looks.
std::string path_of(const char* file) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  for (const char* folder : {"lib", "manager/api", "pool"}) {
    const auto path = program.parent_path().parent_path() / folder / file;
    if (std::filesystem::exists(path, error)) return path;
  }
  return file;
}

}  // namespace

HelperLibrary::HelperLibrary(const Names& names)
    : names_(names), library_(::dlopen(path_of(names.file).c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr)
    throw std::runtime_error(std::string(names.commands) + " need " + names.file + ": " +
                             ::dlerror() + "; a build has it with the option `" + names.option +
                             "`");
}

void* HelperLibrary::symbol(const char* name) const {
  void* const found = ::dlsym(library_, name);
  if (found == nullptr)
    throw std::runtime_error(std::string(names_.file) + " has no " + name +
                             "; install the version of this program");
  return found;
}

Json HelperLibrary::ask(const char* function, const Json& request) const {
  const auto call = reinterpret_cast<char* (*)(const char*)>(symbol(function));
  const auto release = reinterpret_cast<void (*)(char*)>(symbol(names_.release));
  char* const text = call(request.dump().c_str());
  if (text == nullptr) throw std::bad_alloc();
  const Json answer = Json::parse(text, nullptr, false);
  release(text);
  if (answer.value("ok", false)) return answer["reply"];
  const auto code = answer["code"].get<std::string>();
  const auto error = answer["error"].get<std::string>();
  if (code == "USAGE") throw std::invalid_argument(error);
  if (code == "FAILED") throw std::runtime_error(error);
  throw HelperFailure{code, error};
}

}  // namespace tributary::client
