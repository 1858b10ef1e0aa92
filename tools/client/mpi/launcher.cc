#include "tools/client/mpi/launcher.h"

#include <algorithm>
#include <map>

#include "tools/cli/app.h"

namespace tributary::client {
namespace {

using Words = std::vector<std::string>;
using Arities = std::map<std::string_view, int>;

// Values behind each option, without the option's dashes. Source: `mpirun --help all` of Open MPI
// 4.1 and 5.0.
const Arities kOpenmpi = {{"n", 1},
                          {"np", 1},
                          {"c", 1},
                          {"N", 1},
                          {"npernode", 1},
                          {"npersocket", 1},
                          {"pernode", 0},
                          {"H", 1},
                          {"host", 1},
                          {"hostfile", 1},
                          {"machinefile", 1},
                          {"default-hostfile", 1},
                          {"rf", 1},
                          {"rankfile", 1},
                          {"x", 1},
                          {"mca", 2},
                          {"gmca", 2},
                          {"prtemca", 2},
                          {"pmixmca", 2},
                          {"am", 1},
                          {"tune", 1},
                          {"wd", 1},
                          {"wdir", 1},
                          {"path", 1},
                          {"prefix", 1},
                          {"bind-to", 1},
                          {"map-by", 1},
                          {"rank-by", 1},
                          {"cpus-per-proc", 1},
                          {"cpu-set", 1},
                          {"cpu-list", 1},
                          {"output-filename", 1},
                          {"output", 1},
                          {"stdin", 1},
                          {"timeout", 1},
                          {"report-pid", 1},
                          {"report-uri", 1},
                          {"xterm", 1},
                          {"max-restarts", 1},
                          {"personality", 1},
                          {"s", 1},
                          {"preload-files", 1},
                          {"ompi-server", 1},
                          {"dvm", 1},
                          {"hnp", 1},
                          {"launch-agent", 1},
                          {"oversubscribe", 0},
                          {"nooversubscribe", 0},
                          {"allow-run-as-root", 0},
                          {"tag-output", 0},
                          {"timestamp-output", 0},
                          {"report-bindings", 0},
                          {"display-map", 0},
                          {"q", 0},
                          {"v", 0},
                          {"quiet", 0},
                          {"verbose", 0},
                          {"bynode", 0},
                          {"byslot", 0},
                          {"display-allocation", 0},
                          {"enable-recovery", 0},
                          {"do-not-launch", 0},
                          {"get-stack-traces", 0},
                          {"noprefix", 0},
                          {"use-hwthread-cpus", 0},
                          {"merge-stderr-to-stdout", 0},
                          {"display", 1},
                          {"runtime-options", 1}};

// Source: `mpiexec --help` of MPICH 4.0 (Hydra).
const Arities kMpich = {{"n", 1},
                        {"np", 1},
                        {"genv", 2},
                        {"env", 2},
                        {"genvlist", 1},
                        {"envlist", 1},
                        {"genvnone", 0},
                        {"genvall", 0},
                        {"envnone", 0},
                        {"envall", 0},
                        {"f", 1},
                        {"hosts", 1},
                        {"host", 1},
                        {"wdir", 1},
                        {"launcher", 1},
                        {"launcher-exec", 1},
                        {"bootstrap", 1},
                        {"bootstrap-exec", 1},
                        {"enable-x", 0},
                        {"disable-x", 0},
                        {"rmk", 1},
                        {"topolib", 1},
                        {"bind-to", 1},
                        {"map-by", 1},
                        {"membind", 1},
                        {"demux", 1},
                        {"verbose", 0},
                        {"v", 0},
                        {"info", 0},
                        {"l", 0},
                        {"print-all-exitcodes", 0},
                        {"iface", 1},
                        {"ppn", 1},
                        {"profile", 0},
                        {"prepend-rank", 0},
                        {"prepend-pattern", 1},
                        {"outfile-pattern", 1},
                        {"errfile-pattern", 1},
                        {"nameserver", 1},
                        {"disable-auto-cleanup", 0},
                        {"disable-hostname-propagation", 0},
                        {"order-nodes", 1},
                        {"localhost", 1},
                        {"usize", 1},
                        {"pmi-port", 0},
                        {"skip-launch-node", 0},
                        {"gpus-per-proc", 1},
                        {"s", 1},
                        {"path", 1}};

// Options whose value is a file that names the programs.
constexpr std::string_view kFilesOfPrograms[] = {"app", "configfile"};
constexpr std::string_view kMovers[] = {"wd", "wdir", "path", "preload-binary"};

std::string bare(const std::string& option) {
  const std::string name = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  return name.substr(0, name.find('='));
}

bool is_in(const auto& list, const std::string& name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

// Words that the option at words[at] takes behind itself.
int values_of(const Arities& arities, const Words& words, std::size_t at,
              const std::function<bool(const std::string&)>& is_program) {
  if (words[at].find('=') != std::string::npos) return 0;  // --timeout=5
  const auto known = arities.find(bare(words[at]));
  if (known != arities.end()) return known->second;
  // Not known: a word that is neither an option nor a program is its value.
  if (at + 2 >= words.size()) return 0;
  const std::string& next = words[at + 1];
  return next.starts_with('-') || is_program(next) ? 0 : 1;
}

LaunchPart split_part(Mpi mpi, const Words& words,
                      const std::function<bool(const std::string&)>& is_program) {
  const Arities& arities = mpi == Mpi::openmpi ? kOpenmpi : kMpich;
  LaunchPart part;
  std::size_t at = 0;
  while (at < words.size() && words[at].starts_with('-')) {
    if (is_in(kFilesOfPrograms, bare(words[at])))
      throw cli::UsageError(words[at],
                            "programs that a file names are not supported: name them here");
    const int values = values_of(arities, words, at, is_program);
    for (int i = 0; i <= values && at < words.size(); ++i) part.options.push_back(words[at++]);
  }
  part.program.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  if (part.program.empty())
    throw cli::UsageError(
        "no program behind the launcher's arguments: tributary mpirun -- "
        "-n 4 PROGRAM");
  return part;
}

}  // namespace

const char* name_of(Mpi mpi) {
  return mpi == Mpi::openmpi ? "openmpi" : "mpich";
}

const char* display_name(Mpi mpi) {
  return mpi == Mpi::openmpi ? "Open MPI" : "MPICH";
}

std::string library_name(Mpi mpi) {
  return std::string("libtributary_mpi_") + name_of(mpi) + ".so";
}

std::optional<Mpi> parse_mpi(std::string_view name) {
  for (const Mpi mpi : {Mpi::openmpi, Mpi::mpich})
    if (name == name_of(mpi)) return mpi;
  return std::nullopt;
}

std::optional<Mpi> mpi_of_version(std::string_view text) {
  const auto has = [&](std::string_view word) { return text.find(word) != text.npos; };
  if (has("Open MPI") || has("OpenRTE") || has("PRRTE")) return Mpi::openmpi;
  if (has("Intel(R) MPI")) return std::nullopt;  // names Hydra, too
  if (has("HYDRA") || has("MPICH")) return Mpi::mpich;
  return std::nullopt;
}

std::vector<LaunchPart> split_launch(Mpi mpi, const Words& words,
                                     const std::function<bool(const std::string&)>& is_program) {
  std::vector<LaunchPart> parts;
  auto begin = words.begin();
  while (true) {
    const auto end = std::find(begin, words.end(), ":");
    parts.push_back(split_part(mpi, Words(begin, end), is_program));
    if (end == words.end()) return parts;
    begin = end + 1;
  }
}

bool moves_program(const LaunchPart& part) {
  return std::any_of(part.options.begin(), part.options.end(), [](const std::string& word) {
    return word.starts_with('-') && is_in(kMovers, bare(word));
  });
}

std::optional<std::string> variable_in(const std::vector<LaunchPart>& parts,
                                       const std::string& name) {
  for (const LaunchPart& part : parts)
    for (std::size_t i = 0; i + 1 < part.options.size(); ++i) {
      if (!part.options[i].starts_with('-')) continue;
      const std::string option = bare(part.options[i]);
      const std::string& value = part.options[i + 1];
      if (option == "x" && value.starts_with(name + "=")) return value.substr(name.size() + 1);
      if ((option == "genv" || option == "env") && value == name && i + 2 < part.options.size())
        return part.options[i + 2];
    }
  return std::nullopt;
}

std::vector<std::string> launch_words(Mpi mpi, const std::string& launcher,
                                      const std::vector<LaunchPart>& parts, const Words& variables,
                                      const Words& in_front) {
  Words words = {launcher};
  const auto add = [&](const Words& more) { words.insert(words.end(), more.begin(), more.end()); };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) words.emplace_back(":");
    for (const std::string& variable : variables) {
      const std::size_t equals = variable.find('=');
      const std::string name = variable.substr(0, equals);
      if (mpi == Mpi::openmpi)
        add({"-x", name});
      else if (i == 0)
        add({"-genv", name, variable.substr(equals + 1)});
    }
    add(parts[i].options);
    add(in_front);
    add(parts[i].program);
  }
  return words;
}

}  // namespace tributary::client
