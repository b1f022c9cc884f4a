// A JSON document that can be destroyed when there is no memory. nlohmann::json takes memory to
// destroy a container with elements, and the lack of it would end the program.
#pragma once
#include "formats/base/expected.h"
#include <nlohmann/json.hpp>
#include <string_view>

namespace longwave::tokenizer {

class JsonDocument {
public:
    JsonDocument() = default;
    JsonDocument(const JsonDocument &) = delete;
    JsonDocument &operator=(const JsonDocument &) = delete;
    ~JsonDocument();

    // Any bytes. Fault::input, with `name` before it: not JSON, or nested too deep.
    Status parse(std::string_view text, const std::string &name);
    const nlohmann::json &root() const { return root_; }

private:
    nlohmann::json root_;
};

} // namespace longwave::tokenizer
