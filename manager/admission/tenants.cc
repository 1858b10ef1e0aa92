#include "manager/admission/tenants.h"

#include <algorithm>

namespace tributary::manager {

Usage& Usage::operator+=(const Usage& other) {
  jobs += other.jobs;
  workers += other.workers;
  amount += other.amount;
  return *this;
}

Usage& Usage::operator-=(const Usage& other) {
  jobs -= other.jobs;
  workers -= other.workers;
  amount -= other.amount;
  return *this;
}

Usage usage_of(std::uint64_t workers, const std::map<std::string, Amount>& needs) {
  Usage usage;
  usage.jobs = 1;
  usage.workers = workers;
  for (const auto& [node, need] : needs) usage.amount += need;
  return usage;
}

Tenants::Tenants(std::vector<Tenant> tenants) : tenants_(std::move(tenants)) {}

const Tenant* Tenants::find(const std::string& name) const {
  const auto at = std::find_if(tenants_.begin(), tenants_.end(),
                               [&](const Tenant& tenant) { return tenant.name == name; });
  return at == tenants_.end() ? nullptr : &*at;
}

bool Tenants::knows(const std::string& name) const {
  return find(name) != nullptr;
}

std::string Tenants::names() const {
  std::string text;
  for (const Tenant& tenant : tenants_) text.append(text.empty() ? "" : ", ").append(tenant.name);
  return text.empty() ? "none" : text;
}

std::string Tenants::excess(const std::string& name, const Usage& used, const Usage& more) const {
  const Tenant* const tenant = find(name);
  if (tenant == nullptr) return "there is no tenant " + name + "; allowed: " + names();
  std::string text;
  const auto compare = [&](const char* what, std::optional<std::uint64_t> quota, std::uint64_t has,
                           std::uint64_t wants) {
    if (!quota || has + wants <= *quota) return;
    text.append(text.empty() ? "" : "; ")
        .append("needs ")
        .append(std::to_string(wants))
        .append(" ")
        .append(what)
        .append(" of tenant ")
        .append(name)
        .append("'s quota of ")
        .append(std::to_string(*quota))
        .append(", of which ")
        .append(std::to_string(has))
        .append(" are in use");
  };
  compare("jobs", tenant->quota.jobs, used.jobs, more.jobs);
  compare("workers", tenant->quota.workers, used.workers, more.workers);
  compare("slots", tenant->quota.slots, used.amount.slots, more.amount.slots);
  compare("bytes", tenant->quota.bytes, used.amount.bytes, more.amount.bytes);
  return text;
}

double Tenants::share(const std::string& name, const Usage& used, const Amount& all) const {
  const Tenant* const tenant = find(name);
  const auto part = [](std::uint64_t of, std::uint64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(of) / static_cast<double>(whole);
  };
  const double larger =
      std::max(part(used.amount.slots, all.slots), part(used.amount.bytes, all.bytes));
  return larger / (tenant == nullptr ? 1 : std::max(tenant->weight, 1u));
}

}  // namespace tributary::manager
