#include "tools/cli/commands/eval_clips.h"
#include "tools/cli/audio/samples.h"
#include <algorithm>
#include <cmath>
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

Status collect_files(const std::string &path, std::vector<std::string> &files,
                     std::vector<LeftOut> &left_out) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
        files.push_back(path); // opening the file reports an error
        return {};
    }
    LW_ASSIGN(const auto found, files_in(path));
    for (const auto &file : found) {
        const std::string name = file.string();
        if (fs::is_directory(file, error)) {
            LW_TRY(collect_files(name, files, left_out));
        } else if (!fs::is_regular_file(file, error)) { // a pipe would wait
            left_out.push_back({name, "is no file"});
        } else {
            LW_ASSIGN(std::string why, audio::why_unreadable(name));
            if (why.empty()) files.push_back(name);
            else left_out.push_back({name, std::move(why)});
        }
    }
    return {};
}

std::string text_of(const std::vector<LeftOut> &left_out) {
    std::string text = std::to_string(left_out.size()) + (left_out.size() == 1 ? " file" : " files");
    for (size_t i = 0; i < left_out.size() && i < 3; i++)
        text += (i ? ", " : ": ") + left_out[i].path + " " +
                left_out[i].why.substr(0, left_out[i].why.find_first_of(",;"));
    return text + (left_out.size() > 3 ? ", ..." : "");
}

Expected<std::vector<Clip>> find_clips(const std::string &folder, const std::vector<std::string> &labels,
                                       uint64_t seed, std::vector<LeftOut> &left_out) {
    std::vector<Clip> clips;
    LW_ASSIGN(const auto folders, files_in(folder));
    std::string unknown;
    for (const auto &path : folders) {
        if (std::error_code error; !fs::is_directory(path, error)) {
            left_out.push_back({path.string(), "lies beside the folders of labels"});
            continue;
        }
        const auto label = std::find(labels.begin(), labels.end(), path.filename().string());
        if (label == labels.end()) {
            unknown += (unknown.empty() ? "" : ", ") + path.filename().string();
            continue;
        }
        std::vector<std::string> files;
        LW_TRY(collect_files(path.string(), files, left_out));
        for (auto &file : files) {
            std::string speaker = speaker_of(file);
            clips.push_back(
                {std::move(file), static_cast<uint32_t>(label - labels.begin()), std::move(speaker)});
        }
    }
    if (!unknown.empty())
        return Status::input(folder + ": the model has no label for these folders: " + unknown);
    if (clips.empty())
        return Status::input(folder + ": no clips found; expected FOLDER/<label>/<file>" +
                             (left_out.empty() ? "" : "; left out: " + text_of(left_out)));
    std::sort(clips.begin(), clips.end(), [](const Clip &a, const Clip &b) { return a.path < b.path; });
    Random random(seed);
    for (size_t i = clips.size(); i > 1; i--) std::swap(clips[i - 1], clips[random.below(i)]);
    return clips;
}

Expected<std::vector<float>> read_clip(const std::string &path, const AudioFlags &flags, double rate) {
    LW_ASSIGN(audio::Audio audio, audio::read(path, flags.options(static_cast<uint32_t>(rate))));
    if (flags.gain_db != 0)
        for (float &value : audio.samples) value *= static_cast<float>(std::pow(10, flags.gain_db / 20));
    return std::move(audio.samples);
}

} // namespace longwave::cli
