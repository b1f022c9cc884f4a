// An artifact as data: read whole and checked against the format's rules, for the verbs that look inside.
#pragma once
#include "formats/artifact/modules.h"
#include "formats/base/expected.h"
#include <memory>
#include <string>
#include <vector>

namespace longwave::cli {

class ArtifactFile {
public:
    static Expected<ArtifactFile> read(const std::string &path);
    const artifact::View &view() const { return view_; }
    const fb::Plan &plan() const { return view_.plan(); }
    uint64_t size() const { return size_; }
    // What a GPU runs, target by target: the rules of the artifact do not look into it, so V21 is checked here.
    Expected<std::vector<artifact::ModulesView>> modules() const;

private:
    std::string path_;
    std::shared_ptr<uint8_t> bytes_; // 64-aligned, as the rules ask
    uint64_t size_ = 0;
    artifact::View view_;
};

// Can this machine run the variant?
bool runs_here(const fb::CodeVariant &variant);
// "x86-64-v3": the highest level of this processor's architecture that it runs. Empty when it is none of
// ours.
std::string host_target();

} // namespace longwave::cli
