// Short names for the attributes that layer types have, for the tables of layer types alone.
#pragma once
#include "formats/package/layer_types.h"
#include <utility>

namespace longwave::package {

using AttributeKind = AttributeType::Kind;

// "" as a fallback: none, the attribute may be missing.
inline AttributeType size(std::string name) { return {std::move(name)}; }
inline AttributeType size_or(std::string name, std::string fallback) {
    return {std::move(name), AttributeKind::integer, false, std::move(fallback)};
}
inline AttributeType count_or(std::string name, std::string fallback, double high) {
    return {std::move(name), AttributeKind::integer, false, std::move(fallback), 0, high};
}
inline AttributeType flag(std::string name, std::string fallback) {
    return {std::move(name), AttributeKind::boolean, false, std::move(fallback)};
}
inline AttributeType small(std::string name, std::string fallback) {
    return {std::move(name), AttributeKind::number, false, std::move(fallback), 0, 1};
} // an eps

inline AttributeType real_or(std::string name, std::string fallback) {
    return {std::move(name), AttributeKind::number, false, std::move(fallback), -1e30, 1e30};
}

inline AttributeType word(std::string name, std::string fallback, std::vector<std::string> choices) {
    return {std::move(name), AttributeKind::text, false, std::move(fallback), 0, 0, std::move(choices)};
}

} // namespace longwave::package
