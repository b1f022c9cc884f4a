// Takes the place of the other files when libasound was not found at build time.
#include "tools/cli/microphone/microphone.h"

namespace longwave::cli {

static Status missing() {
    return Status::device(
        "this build of longwave has no microphone: install libasound2-dev and build it again, "
        "or pipe audio from `arecord`");
}

Expected<audio::Reader> open_microphone(const MicrophoneOptions &) { return missing(); }
Expected<std::vector<MicrophoneDescription>> list_microphones() { return missing(); }

} // namespace longwave::cli
