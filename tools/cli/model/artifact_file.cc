#include "tools/cli/model/artifact_file.h"
#include "formats/artifact/verify.h"
#include "formats/package/file_bytes.h"
#include "formats/package/json_text.h"
#include "runtime/platform/cpu.h"
#include "targets/target.h"
#include "tools/cli/model/other_file.h"
#include <cstdlib>
#include <filesystem>

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace longwave::cli {

static Status unsound(const std::string &path, const artifact::Broken &broken) {
    return Status::input(path + ": the file is damaged or is not a compiled model: check V" +
                         std::to_string(broken.rule) + " failed: " + broken.text + " (" +
                         std::to_string(broken.a) + ", " + std::to_string(broken.b) +
                         "); copy it again, or compile it again");
}

Status check_model_file(const std::string &path) {
    std::error_code error;
    const fs::file_status found = fs::status(path, error);
    if (found.type() == fs::file_type::not_found)
        return Status::input(path + ": No such file or directory; make it with longwave compile FOLDER -o " +
                             path);
    if (fs::is_directory(found) && fs::exists(fs::path(path) / "model.json", error))
        return Status::input(path + ": is a model folder; compile it first: longwave compile " + path +
                             " -o model.lw");
    if (fs::is_regular_file(found)) return refuse_other_file(path); // a pipe would lose its first bytes
    return {};
}

Expected<ArtifactFile> ArtifactFile::read(const std::string &path) {
    LW_TRY(check_model_file(path));
    LW_ASSIGN(const package::InputFile file, package::InputFile::open(path, UINT64_MAX));
    ArtifactFile result;
    result.size_ = file.size();
    const size_t room = (result.size_ + 63) / 64 * 64 + 64;
    result.bytes_ = std::shared_ptr<uint8_t>(static_cast<uint8_t *>(std::aligned_alloc(64, room)), std::free);
    if (!result.bytes_)
        return Status::device(path + ": not enough memory to read " + std::to_string(result.size_) +
                              " bytes");
    LW_TRY(file.read(0, {result.bytes_.get(), result.size_}));

    artifact::Request request;
    request.file = result.bytes_.get();
    request.size = result.size_;
    request.memory_limit = UINT64_MAX; // only read here: opening the model has the limit
    if (const artifact::Broken broken = artifact::verify(request, &result.view_)) {
        if (broken.no_memory) return Status::device(path + ": not enough memory to check the file");
        return unsound(path, broken);
    }
    result.path_ = path;
    return result;
}

Expected<std::vector<artifact::ModulesView>> ArtifactFile::modules() const {
    std::vector<artifact::ModulesView> all;
    for (uint32_t i = 0; i < plan().segments()->size(); i++) {
        if (plan().segments()->Get(i)->kind() != fb::SegmentKind::modules) continue;
        all.emplace_back();
        if (const artifact::Broken broken = artifact::open_modules(plan(), view_.segment(i), &all.back()))
            return unsound(path_, broken);
    }
    return all;
}

bool runs_here(const fb::CodeVariant &variant) {
    const artifact::Host host = platform::host();
    return variant.machine() == host.machine && (variant.features() & ~host.features) == 0;
}

std::string host_target() {
    const artifact::Host host = platform::host();
    std::string best; // the table goes from the least demanding to the most
    for (const targets::Target &target : targets::all())
        if (!target.by_name && target.elf_machine == host.machine && (target.features & ~host.features) == 0)
            best = target.name;
    return best;
}

Expected<ordered_json> parse_limited(std::string_view text, const std::string &where) {
    // A report has a few levels, some thousand values and some ten keys per object. An ordered
    // object is searched from its beginning for every key.
    constexpr size_t max_bytes = 16 << 20;
    constexpr package::JsonLimits limits{.depth = 32, .values = 1 << 20, .keys = 1024};
    if (text.empty()) return ordered_json();
    package::Problems problems;
    if (text.size() > max_bytes) {
        problems.line(where + ": longer than " + std::to_string(max_bytes) + " bytes");
    } else if (auto document = package::parse_json<ordered_json>(text, where, limits, problems)) {
        return *std::move(document);
    }
    const std::string all = problems.status().message();
    return Status::input(all.substr(0, all.find('\n')) + "; compile the model again, or ask its author");
}

} // namespace longwave::cli
