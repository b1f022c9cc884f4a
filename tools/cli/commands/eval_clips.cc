#include "tools/cli/commands/eval_clips.h"
#include "tools/cli/audio/samples.h"
#include <algorithm>
#include <filesystem>

namespace fs = std::filesystem;

namespace longwave::cli {
namespace {

Expected<std::vector<fs::path>> files_in(const fs::path &folder) {
    std::error_code error;
    std::vector<fs::path> found;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
        if (it->path().filename().string()[0] != '.') found.push_back(it->path());
    if (error) return Status::input(folder.string() + ": cannot be read: " + error.message());
    std::sort(found.begin(), found.end());
    return found;
}

} // namespace

std::string speaker_of(const std::string &path) {
    std::string name = fs::path(path).stem().string();
    const size_t end = name.find("_nohash_");
    if (end == std::string::npos) return name.substr(0, name.find_first_of("_-"));
    name.resize(end);
    const size_t before = name.rfind('_');
    return before == std::string::npos ? name : name.substr(before + 1);
}

Status collect_files(const std::string &path, std::vector<std::string> &files) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
        files.push_back(path); // opening the file reports an error
        return {};
    }
    LW_ASSIGN(const auto found, files_in(path));
    for (const auto &file : found) LW_TRY(collect_files(file.string(), files));
    return {};
}

Expected<std::vector<Clip>> find_clips(const std::string &folder, const std::vector<std::string> &labels,
                                       uint64_t seed) {
    std::vector<Clip> clips;
    LW_ASSIGN(const auto folders, files_in(folder));
    std::string unknown;
    for (const auto &path : folders) {
        if (std::error_code error; !fs::is_directory(path, error)) continue;
        const auto label = std::find(labels.begin(), labels.end(), path.filename().string());
        if (label == labels.end()) {
            unknown += (unknown.empty() ? "" : ", ") + path.filename().string();
            continue;
        }
        std::vector<std::string> files;
        LW_TRY(collect_files(path.string(), files));
        for (auto &file : files) {
            std::string speaker = speaker_of(file);
            clips.push_back({std::move(file), static_cast<uint32_t>(label - labels.begin()), std::move(speaker)});
        }
    }
    if (!unknown.empty())
        return Status::input(folder + ": the model has no label for these folders: " + unknown);
    if (clips.empty()) return Status::input(folder + ": no clips found; expected FOLDER/<label>/<file>");
    std::sort(clips.begin(), clips.end(), [](const Clip &a, const Clip &b) { return a.path < b.path; });
    Random random(seed);
    for (size_t i = clips.size(); i > 1; i--) std::swap(clips[i - 1], clips[random.below(i)]);
    return clips;
}

Expected<std::vector<float>> read_clip(const std::string &path, const AudioFlags &flags, double rate) {
    LW_ASSIGN(audio::Audio audio, audio::read(path, flags.options(static_cast<uint32_t>(rate))));
    return std::move(audio.samples);
}

} // namespace longwave::cli
