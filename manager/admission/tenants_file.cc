#include "manager/admission/tenants_file.h"

#include <cstdint>
#include <limits>
#include <set>

#include "config/text/file.h"

namespace tributary::manager {
namespace {

using config::Fields;

constexpr std::size_t kMostTenants = 1024;
constexpr std::uint32_t kMostWeight = 1000;

struct TenantsFile {
  std::vector<Tenant> tenants;
};

const Fields<Quota>& quota_fields() {
  const auto limit = config::or_absent(
      config::integer<std::uint64_t>(1, std::numeric_limits<std::int64_t>::max()));
  static const Fields<Quota> fields = {
      config::scalar("jobs", &Quota::jobs, limit, "Jobs that run at once."),
      config::scalar("workers", &Quota::workers, limit, "Workers of all its jobs."),
      config::scalar("slots", &Quota::slots, limit, "Slots on all switches together."),
      config::scalar("bytes", &Quota::bytes, limit, "Memory on all switches together.")};
  return fields;
}

const Fields<TenantsFile>& file_fields() {
  static const Fields<Tenant> tenant = {
      config::scalar("name", &Tenant::name, config::identifier(), "As certificates have it.",
                     config::Presence::required),
      config::scalar("weight", &Tenant::weight, config::integer<std::uint32_t>(1, kMostWeight),
                     "Weight in fair sharing."),
      config::mapping<Tenant, Quota>(
          "quota", [](auto& t) -> auto& { return t.quota; }, quota_fields(),
          "Limits on its running jobs.")};
  static const Fields<TenantsFile> fields = {config::list(
      "tenants", &TenantsFile::tenants, tenant, 1, kMostTenants, "Tenants that may submit jobs.")};
  return fields;
}

}  // namespace

std::vector<Tenant> parse_tenants(std::string_view text, const std::string& file_name) {
  config::ReadContext context(file_name);
  TenantsFile file;
  config::read_mapping(context, "", config::parse_text(text, file_name), file_fields(), file);
  std::set<std::string> names;
  for (std::size_t i = 0; i < file.tenants.size(); ++i) {
    const std::string path = config::item_path("tenants", i) + ".name";
    if (!names.insert(file.tenants[i].name).second)
      context.fail(path, context.mark_of(path),
                   "'" + file.tenants[i].name + "' is there twice; allowed: each name once");
  }
  if (!context.errors().empty()) throw config::ConfigErrors(context.errors());
  return file.tenants;
}

std::vector<config::KeyInfo> describe_tenants_schema() {
  std::vector<config::KeyInfo> keys;
  config::describe_fields(file_fields(), "", keys);
  return keys;
}

}  // namespace tributary::manager
