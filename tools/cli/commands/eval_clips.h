// Labelled clips for `longwave eval`.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/audio/audio_flags.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::cli {

struct Clip {
    std::string path;
    uint32_t label = 0;
    std::string speaker; // speaker_of
};

// Who speaks: the part of the file's name before "_nohash_", as in Speech Commands. Of
// "<word>_<speaker>_nohash_0" the speaker. Other names: up to the first '_' or '-'.
std::string speaker_of(const std::string &path);

// A file of a folder that is left out, and why: it is not audio, or lies beside the folders of labels.
struct LeftOut {
    std::string path, why;
};

// Every audio file under a folder, sorted; a file stands for itself. Hidden files are left out and not
// listed.
Status collect_files(const std::string &path, std::vector<std::string> &files,
                     std::vector<LeftOut> &left_out);

// FOLDER/<label>/<file>, shuffled by the seed. Fault::input: a folder whose name is not a label, or
// no clip.
Expected<std::vector<Clip>> find_clips(const std::string &folder, const std::vector<std::string> &labels,
                                       uint64_t seed, std::vector<LeftOut> &left_out);

// "2 files: a.txt is text, ...", for errors and the summary.
std::string text_of(const std::vector<LeftOut> &left_out);

// Mono samples at the rate of the model.
Expected<std::vector<float>> read_clip(const std::string &path, const AudioFlags &flags, double rate);

} // namespace longwave::cli
