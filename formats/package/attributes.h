// Checks the attributes of a layer, or of one branch, against the layer table.
#pragma once
#include "formats/package/layer_types.h"
#include "formats/package/problems.h"

namespace longwave::package {

// Reads the attributes of `type` from `object`: the result holds all of them, defaults filled in.
// Keys of `object` that are neither attributes nor in `others` are reported with the nearest one
// that is known.
nlohmann::json read_attributes(const LayerType &type, const nlohmann::json &object,
                               const std::vector<std::string> &others, const std::string &path,
                               Problems &problems);

// The helpers that the rest of the reader shares. Each reports what is wrong and returns a value
// that lets the reading go on.
void only_keys(const nlohmann::json &object, const std::vector<std::string> &known, const std::string &path,
               Problems &problems);
// A text for people and file formats: UTF-8 by construction, 1 to 256 bytes, no control characters.
// What the compiled model repeats has neither '/' nor '\\': the same as rule V16 asks, before any
// kernel is compiled.
enum class NameKind { model, part, key };
bool good_name(const nlohmann::json &value, const std::string &path, NameKind kind, Problems &problems);
// No character of it is_control() or is_direction_mark().
bool plain_text(std::string_view text);
bool integer_in(const nlohmann::json &value, double low, double high, const std::string &path,
                Problems &problems);
bool number_in(const nlohmann::json &value, double low, double high, const std::string &path,
               Problems &problems);

} // namespace longwave::package
