// Puts into a document what counts for more than its file: values of keys, and elements of lists of
// mappings that come, change or go.
//
// Values are untrusted text: bounded, and refused with a message. What they say is checked as in a
// file, by reading the whole document.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/change/place.h"

namespace tributary::config {

inline constexpr std::size_t kMostValueBytes = 1024;
inline constexpr std::size_t kMostElementBytes = 3072;

// True for text that is meant as an element of a list as a whole: a mapping in braces.
bool is_element_text(const std::string& text);
// Parses one value, or a list of them in brackets, as in a file. `path` is for the error. Throws
// std::invalid_argument.
Node parse_value(const std::string& path, const std::string& text);
// Throws std::invalid_argument unless it is one value, or a list of them.
void check_value(const std::string& path, const Node& value);
// Parses "{workers: 2}". The element gets the key that names it, whose value may be given as well;
// it is `member.name` unless that is empty. Throws std::invalid_argument.
Node parse_element(const Member& member, const std::string& text);
// The list at `place` in the document, with `value` as the element that the place names; appended,
// if that is the next element. Throws std::invalid_argument.
Node with_element(const Document& document, const Place& place, Node value);

// Creates the mappings and lists around it that the document lacks.
void put_value(Document& document, const Place& place, Node value);
// In the place of the element of that name, else at `member.at`, at the end without it.
void put_element(Document& document, const Member& member, Node element);
void remove_element(Document& document, const Member& member);

// nullptr if the document leaves it out.
const Node* value_at(const Document& document, const Place& place);
const Node* element_at(const Document& document, const Member& member);
// The value as in a file, on one line.
std::string text_of(const Node& value);

}  // namespace tributary::config
