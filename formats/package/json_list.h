// A member that becomes a list with its first element.
//
// nlohmann-json lets a null value become a list or an object by itself (`x["names"].push_back(1)`).
// Without memory for it, version 3.11.2 leaves a value that crashes where it is destroyed.
#pragma once

namespace longwave::package {

template <class Json> Json &list_in(Json &object, const char *name) {
    Json &member = object[name];
    if (member.is_null()) member = Json::array();
    return member;
}

} // namespace longwave::package
