#include "tools/client/mpi/program_mpi.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tools/client/mpi/child.h"

namespace tributary::client {
namespace {

constexpr std::size_t kMostInterpreter = 4096;

bool can_run(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::string beginning_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(256, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

template <typename T>
bool read_at(std::ifstream& file, std::uint64_t offset, T& value) {
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(&value), sizeof value);
  return file.gcount() == static_cast<std::streamsize>(sizeof value);
}

bool is_elf(const std::string& bytes) {
  return bytes.size() >= sizeof(Elf64_Ehdr) && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0 &&
         bytes[EI_CLASS] == ELFCLASS64;
}

// The dynamic loader of an ELF file; empty if it has none.
std::string loader_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!read_at(file, 0, header)) return {};
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!read_at(file, header.e_phoff + i * header.e_phentsize, segment)) return {};
    if (segment.p_type != PT_INTERP || segment.p_filesz == 0 || segment.p_filesz > kMostInterpreter)
      continue;
    std::string text(segment.p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    return text.c_str();  // less its final zero
  }
  return {};
}

bool is_python(const std::string& path) {
  return std::filesystem::path(path).filename().string().starts_with("python");
}

ProgramMpi mpi_of_python(const std::string& python) {
  const Captured answer =
      capture({python, "-c",
               "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; "
               "print(MPI.Get_library_version())"});
  if (answer.status != 0) return {};  // no mpi4py: another module may bring an MPI
  return {mpi_of_version(answer.output), python + "'s mpi4py"};
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.empty()) return {};
  if (name.find('/') != std::string::npos) return can_run(name) ? name : "";
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (can_run(file)) return file;
  }
  return {};
}

ProgramMpi mpi_of_libraries(const std::string& list) {
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == std::string::npos) continue;
    const std::string name = line.substr(start, line.find_first_of(" \t", start) - start);
    if (name.starts_with("libmpich.so")) return {Mpi::mpich, name};
    // Intel MPI and MVAPICH have a libmpi.so.12, with MPICH's interface.
    if (name.starts_with("libmpi.so") && !name.starts_with("libmpi.so.12"))
      return {Mpi::openmpi, name};
  }
  return {};
}

std::vector<std::string> interpreter_of(const std::string& first_bytes) {
  if (!first_bytes.starts_with("#!")) return {};
  std::istringstream line(first_bytes.substr(2, first_bytes.find('\n') - 2));
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  return words;
}

ProgramMpi mpi_of_program(const std::string& name) {
  const std::string path = find_program(name);
  if (path.empty()) return {};
  const std::string bytes = beginning_of(path);
  const std::vector<std::string> interpreter = interpreter_of(bytes);
  for (const std::string& word : interpreter)
    if (is_python(word)) return mpi_of_python(word);
  if (!interpreter.empty() || !is_elf(bytes)) return {};
  const std::string loader = loader_of(path);
  if (loader.empty())
    throw std::runtime_error(name + " is linked statically: no library can be preloaded into it");
  if (is_python(path)) return mpi_of_python(path);
  return mpi_of_libraries(capture({loader, "--list", path}).output);
}

}  // namespace tributary::client
