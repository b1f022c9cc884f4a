// make_tiny_artifacts FOLDER: writes audio.lw, tokens.lw, spotter.lw, speech.lw (tiny_model.h), filter.lw
// (tiny_filters.h) and text.lw (tiny_text.h) there, for tests of whole programs.
#include "tests/support/tiny_filters.h"
#include "tests/support/tiny_text.h"
#include <cstdio>

using namespace longwave;
using namespace longwave::test;

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    const std::pair<const char *, Draft> files[] = {
        {"/audio.lw", audio_model()},
        {"/tokens.lw", token_model()},
        {"/spotter.lw", spotter_model()},
        {"/speech.lw", speech_model()},
        {"/filter.lw", late_model({.block = 8, .width = 4, .lag = 6, .delay = 4})},
        {"/text.lw", bigram_model(alphabet())}};
    for (const auto &[name, draft] : files) {
        const Status status = artifact::write_file_atomically(argv[1] + std::string(name), draft.bytes());
        if (!status) return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;
    }
    return 0;
}
