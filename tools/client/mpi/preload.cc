#include "tools/client/mpi/preload.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace tributary::client {
namespace {

namespace fs = std::filesystem;

#if defined(__aarch64__)
constexpr const char* kDebianFolder = "lib/aarch64-linux-gnu";
#else
constexpr const char* kDebianFolder = "lib/x86_64-linux-gnu";
#endif

// CMake's build and a prefix have bin/tributary; meson's build has tools/tributary.
std::vector<fs::path> places(const std::string& file) {
  const fs::path top = fs::path(own_path()).parent_path().parent_path();
  std::vector<fs::path> paths;
  for (const char* folder : {"lib", kDebianFolder, "worker/mpi"})
    paths.push_back(top / folder / file);
  return paths;
}

// The path of what dlopen() finds under `name`; throws its reason.
std::string load(const std::string& name) {
  void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(::dlerror());
  link_map* map = nullptr;
  ::dlinfo(library, RTLD_DI_LINKMAP, &map);
  const std::string path = fs::absolute(map->l_name);
  ::dlclose(library);
  return path;
}

std::string checked(const std::string& path) {
  if (path.find_first_of(" :") != std::string::npos)
    throw std::runtime_error(path +
                             " can't be preloaded: its path has a space or a colon, which "
                             "separate the entries of LD_PRELOAD");
  return path;
}

std::string load_file(const std::string& path) {
  try {
    return checked(load(path));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("the library for MPI programs can't be loaded: " +
                             std::string(error.what()));
  }
}

}  // namespace

std::string own_path() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

std::string find_preload(Mpi mpi, const std::string& given) {
  if (!given.empty()) return load_file(fs::absolute(given));
  const std::string file = library_name(mpi);
  std::string looked_at;
  for (const fs::path& path : places(file)) {
    std::error_code error;
    if (fs::exists(path, error)) return load_file(path);
    looked_at += path.string() + ", ";
  }
  try {
    return checked(load(file));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("no " + file + " in " + looked_at +
                             "nor where the loader looks: " + error.what() +
                             "; a build has it with the option `TRIBUTARY_MPI`, and `cmake "
                             "--install BUILD --component mpi` installs it");
  }
}

}  // namespace tributary::client
