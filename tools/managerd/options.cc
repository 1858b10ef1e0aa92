#include "tools/managerd/options.h"

#include <unistd.h>

#include <array>

#include "manager/pods/names.h"

namespace tributary::managerd {
namespace {

constexpr std::size_t kMostHostName = 256;

std::string host_name() {
  std::array<char, kMostHostName> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string checked_name(const std::string& text) {
  if (!manager::is_name(text))
    throw cli::UsageError("--name", "'" + text + "'; allowed: " + manager::kAllowedNames);
  return text;
}

}  // namespace

void add_options(cli::App& app, Options& options) {
  options.name = host_name();
  app.add_option("--store", options.store,
                 "where the state lives, sqlite:PATH or etcd:HOST[:PORT],...[/NAME]")
      ->capture_default_str();
  app.add_option("--etcd-ca", options.etcd_tls.ca,
                 "PEM of etcd's authority; left out: without TLS");
  app.add_option("--etcd-cert", options.etcd_tls.certificate, "PEM of the certificate for etcd");
  app.add_option("--etcd-key", options.etcd_tls.key, "PEM of its key");
  app.add_parsed(
      "--name", [&options](const std::string& text) { options.name = checked_name(text); },
      "of this manager among those of one etcd; default: the host's");
  app.add_option("--lead-lease", options.lead_lease_s,
                 "after how many seconds another manager follows one that is gone, with etcd")
      ->check(cli::range(2.0, 60.0))
      ->capture_default_str();
  app.add_option("--topology", options.topology, "the cluster's switches and workers, a file")
      ->capture_default_str();
  app.add_option("--tenants", options.tenants, "file of tenants and their quotas")
      ->capture_default_str();
  app.add_option("--socket", options.listen.socket, "unix socket for this machine; empty: none")
      ->capture_default_str();
  app.add_option("--listen", options.listen.address,
                 "HOST:PORT for clients on other machines, with TLS");
  app.add_option("--tls-ca", options.listen.tls.ca,
                 "PEM of the authority of the clients' certificates");
  app.add_option("--tls-cert", options.listen.tls.certificate, "PEM of the own certificate");
  app.add_option("--tls-key", options.listen.tls.key, "PEM of its key");
  app.add_option("--load-below", options.load_below,
                 "place pods on devices with a smaller used share than this, unless they say")
      ->check(cli::range(0.01, 1.0))
      ->capture_default_str();
  app.add_option("--node-lease", options.node_lease_s,
                 "silence of a node after which it ends its pods, in seconds")
      ->check(cli::range(1.0, 86400.0))
      ->capture_default_str();
  app.add_option("--http", options.http, "where /metrics, /healthz and the page are, IPV4:PORT")
      ->capture_default_str();
  app.add_option("--kubernetes", options.kubernetes,
                 "IPV4:PORT for kubectl, with TLS; empty: none");
  app.add_flag("--check", options.check, "check the files, print every mistake, exit");
  app.add_option("--log-level", options.log_level, "leave out lines that are less important")
      ->check(cli::is_member({"error", "warning", "notice", "info"}));
  app.add_option("--log-format", options.log_format, "format of the log on standard error")
      ->check(cli::is_member({"text", "json"}));
  app.add_ready_fd(options.ready_fd);
}

}  // namespace tributary::managerd
