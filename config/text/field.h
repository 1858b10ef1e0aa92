// A key of the schema, bound to a struct member: reads it, writes it and describes it.
//
// One table of fields per struct (config/schema/schema.cc) is the only place where keys are listed;
// the parser, dump(), the unknown-key hints and docs/configuration.md all follow from it. Defaults
// are read off a default-constructed struct, so they cannot differ from the code's.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/text/codec.h"
#include "config/text/read_context.h"

namespace tributary::config {

// One key as docs/configuration.md shows it.
struct KeyInfo {
  std::string path;  // "jobs[].window"
  std::string type;
  std::string fallback;  // default, "required" or "none"
  std::string allowed;
  std::string meaning;
};

enum class Presence { optional, required };

template <typename Owner>
struct Field {
  std::string name;
  Presence presence = Presence::optional;
  // Containers accept a key without a value as empty; single values do not.
  bool container = false;
  std::function<void(ReadContext&, const std::string& path, const Node&, Owner&)> read;
  // Lines of YAML at this indentation; empty if the key is to be left out.
  std::function<std::string(const Owner&, int indent)> write;
  std::function<void(const std::string& path, std::vector<KeyInfo>&)> describe;
};
template <typename Owner>
using Fields = std::vector<Field<Owner>>;

inline std::string indentation(int levels) {
  return std::string(static_cast<std::size_t>(levels) * 2, ' ');
}
// The key itself, or quoted and shortened if it is not a word.
std::string printable_key(const std::string& key);
// "unknown key; did you mean 'window'? allowed: ..."
std::string unknown_key_message(const std::string& key, const std::vector<std::string>& known);

// ---- reading and writing a struct by its table

template <typename Owner>
void read_mapping(ReadContext& context, const std::string& path, const Node& node,
                  const Fields<Owner>& fields, Owner& owner) {
  if (node.kind != Node::Kind::mapping && node.kind != Node::Kind::null) {
    context.fail(path, node.mark,
                 std::string("is ") + name_of(node.kind) + "; allowed: a mapping of keys");
    return;
  }
  std::vector<std::string> known;
  for (const auto& field : fields) known.push_back(field.name);
  for (const auto& [key, value] : node.entries) {
    const std::string key_path = child_path(path, key.text);
    const auto is_it = [&k = key](const auto& field) { return field.name == k.text; };
    const auto field = std::find_if(fields.begin(), fields.end(), is_it);
    if (field == fields.end()) {
      context.fail(child_path(path, printable_key(key.text)), key.mark,
                   unknown_key_message(key.text, known));
      continue;
    }
    context.note(key_path, value.kind == Node::Kind::null ? key.mark : value.mark);
    if (value.kind == Node::Kind::null && !field->container)
      context.fail(key_path, key.mark, "has no value; leave the key out for its default");
    else
      field->read(context, key_path, value, owner);
  }
  for (const auto& field : fields) {
    const auto has_name = [&](const auto& entry) { return entry.key.text == field.name; };
    if (field.presence == Presence::required &&
        std::none_of(node.entries.begin(), node.entries.end(), has_name))
      context.fail(child_path(path, field.name), path.empty() ? node.mark : context.mark_of(path),
                   "is missing; it is required");
  }
}

template <typename Owner>
std::string write_fields(const Fields<Owner>& fields, const Owner& owner, int indent) {
  std::string out;
  for (const auto& field : fields) out += field.write(owner, indent);
  return out;
}

template <typename Owner>
void describe_fields(const Fields<Owner>& fields, const std::string& path,
                     std::vector<KeyInfo>& out) {
  for (const auto& field : fields) field.describe(child_path(path, field.name), out);
}

// ---- kinds of fields

template <typename Owner, typename T>
Field<Owner> scalar(const std::string& name, T Owner::*member, const Codec<T>& codec,
                    std::string meaning, Presence presence = Presence::optional) {
  Field<Owner> field;
  field.name = name;
  field.presence = presence;
  field.read = [=](ReadContext& context, const std::string& path, const Node& node, Owner& owner) {
    if (node.kind != Node::Kind::scalar) {
      context.fail(path, node.mark,
                   std::string("is ") + name_of(node.kind) + "; allowed: " + codec.allowed);
      return;
    }
    if (const auto problem = codec.parse(node, owner.*member))
      context.fail(path, node.mark,
                   config::quoted(node.text) + " " + *problem + "; allowed: " + codec.allowed);
  };
  field.write = [=](const Owner& owner, int indent) -> std::string {
    const auto text = codec.format(owner.*member);
    return text ? indentation(indent) + name + ": " + *text + "\n" : "";
  };
  field.describe = [=](const std::string& path, std::vector<KeyInfo>& out) {
    const std::string fallback = presence == Presence::required
                                     ? "required"
                                     : codec.format(Owner{}.*member).value_or("none");
    out.push_back({path, codec.type, fallback, codec.allowed, meaning});
  };
  return field;
}

template <typename Owner, typename T>
Field<Owner> choice(const std::string& name, T Owner::*member,
                    std::vector<std::pair<std::string, T>> words, std::string meaning) {
  return scalar(name, member, one_of<T>(std::move(words)), std::move(meaning));
}

// A list of single values, written on one line.
template <typename Owner, typename Item>
Field<Owner> scalars(const std::string& name, std::vector<Item> Owner::*member,
                     const Codec<Item>& codec, std::size_t least, std::size_t most,
                     const std::string& meaning) {
  const std::string allowed = "a list of " + std::to_string(least) + " to " + std::to_string(most) +
                              ", each " + codec.allowed;
  Field<Owner> field;
  field.name = name;
  field.presence = least > 0 ? Presence::required : Presence::optional;
  field.container = true;
  field.read = [=](ReadContext& context, const std::string& path, const Node& node, Owner& owner) {
    if (node.kind != Node::Kind::sequence || node.items.size() < least || node.items.size() > most)
      return context.fail(path, node.mark,
                          std::string("is ") + name_of(node.kind) + "; allowed: " + allowed);
    auto& items = owner.*member;
    items.resize(node.items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Node& item = node.items[i];
      context.note(item_path(path, i), item.mark);
      const auto problem =
          item.kind == Node::Kind::scalar
              ? codec.parse(item, items[i])
              : std::optional<std::string>(std::string("is ") + name_of(item.kind));
      if (problem)
        context.fail(item_path(path, i), item.mark,
                     config::quoted(item.text) + " " + *problem + "; allowed: " + codec.allowed);
    }
  };
  field.write = [=](const Owner& owner, int indent) -> std::string {
    std::string text;
    for (const Item& item : owner.*member)
      text.append(text.empty() ? "" : ", ").append(codec.format(item).value_or(""));
    return text.empty() ? "" : indentation(indent) + name + ": [" + text + "]\n";
  };
  field.describe = [=](const std::string& path, std::vector<KeyInfo>& out) {
    out.push_back({path, "list", least > 0 ? "required" : "none", allowed, meaning});
  };
  return field;
}

// A mapping whose keys fill another struct: `access(owner)` returns it; it may be the owner itself.
template <typename Owner, typename Inner, typename Access>
Field<Owner> mapping(const std::string& name, Access access, const Fields<Inner>& fields,
                     const std::string& meaning, Presence presence = Presence::optional) {
  Field<Owner> field;
  field.name = name;
  field.presence = presence;
  field.container = true;
  field.read = [=](ReadContext& context, const std::string& path, const Node& node, Owner& owner) {
    read_mapping(context, path, node, fields, access(owner));
  };
  field.write = [=](const Owner& owner, int indent) -> std::string {
    const std::string body = write_fields(fields, access(owner), indent + 1);
    return body.empty() ? "" : indentation(indent) + name + ":\n" + body;
  };
  field.describe = [=](const std::string& path, std::vector<KeyInfo>& out) {
    out.push_back({path, "mapping", presence == Presence::required ? "required" : "defaults below",
                   "the keys below", meaning});
    describe_fields(fields, path, out);
  };
  return field;
}

template <typename Owner, typename Item>
Field<Owner> list(const std::string& name, std::vector<Item> Owner::*member,
                  const Fields<Item>& fields, std::size_t least, std::size_t most,
                  const std::string& meaning) {
  const std::string allowed =
      "a list of " + std::to_string(least) + " to " + std::to_string(most) + " mappings";
  Field<Owner> field;
  field.name = name;
  field.presence = least > 0 ? Presence::required : Presence::optional;
  field.container = true;
  field.read = [=](ReadContext& context, const std::string& path, const Node& node, Owner& owner) {
    if (node.kind != Node::Kind::sequence && node.kind != Node::Kind::null) {
      context.fail(path, node.mark,
                   std::string("is ") + name_of(node.kind) + "; allowed: " + allowed);
      return;
    }
    if (node.items.size() < least || node.items.size() > most) {
      const Mark mark = node.kind == Node::Kind::null ? context.mark_of(path) : node.mark;
      context.fail(path, mark,
                   "has " + std::to_string(node.items.size()) + " entries; allowed: " + allowed);
      if (node.items.size() > most) return;
    }
    auto& items = owner.*member;
    items.resize(node.items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      context.note(item_path(path, i), node.items[i].mark);
      read_mapping(context, item_path(path, i), node.items[i], fields, items[i]);
    }
  };
  field.write = [=](const Owner& owner, int indent) -> std::string {
    std::string out;
    for (const Item& item : owner.*member) {
      std::string body = write_fields(fields, item, indent + 2);
      body[static_cast<std::size_t>(indent + 1) * 2] = '-';
      out += body;
    }
    return out.empty() ? "" : indentation(indent) + name + ":\n" + out;
  };
  field.describe = [=](const std::string& path, std::vector<KeyInfo>& out) {
    out.push_back({path, "list", least > 0 ? "required" : "none", allowed, meaning});
    describe_fields(fields, path + "[]", out);
  };
  return field;
}

}  // namespace tributary::config
