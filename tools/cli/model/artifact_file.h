// A compiled model as data: read and checked against the rules of the format, for commands that
// show its contents.
#pragma once
#include "formats/artifact/modules.h"
#include "formats/base/expected.h"
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::cli {

// Fault::input: there is nothing at this path, or a model folder, or a file of another kind. It says
// which command makes a compiled model of it.
Status check_model_file(const std::string &path);

class ArtifactFile {
public:
    static Expected<ArtifactFile> read(const std::string &path);
    const artifact::View &view() const { return view_; }
    const fb::Plan &plan() const { return view_.plan(); }
    uint64_t size() const { return size_; }
    std::vector<uint8_t> bytes() const { return {bytes_.get(), bytes_.get() + size_}; }
    // The SPIR-V modules of each GPU target. Checks rule V21, which verification of the file leaves
    // out.
    Expected<std::vector<artifact::ModulesView>> modules() const;

private:
    std::string path_;
    std::shared_ptr<uint8_t> bytes_; // 64-aligned, as the rules ask
    uint64_t size_ = 0;
    artifact::View view_;
};

// Whether this machine can run the variant.
bool runs_here(const fb::CodeVariant &variant);
// "x86-64-v3": the highest level of this CPU's architecture that it can run. Empty: no target
// matches.
std::string host_target();

// JSON inside a compiled model: untrusted text.

// An empty text is null. Fault::input, with `where` before it: the text is not JSON, or its size,
// depth or width exceeds that of any report. Such text would cost unbounded memory and stack.
Expected<nlohmann::ordered_json> parse_limited(std::string_view text, const std::string &where);

} // namespace longwave::cli
