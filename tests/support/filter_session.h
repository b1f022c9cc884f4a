// Audio streams in one line.
#pragma once
#include "tests/support/filter_options.h"
#include "tests/support/session.h"
#include <doctest/doctest.h>
#include <memory>
#include <vector>

namespace longwave::test {

using AudioStream = std::unique_ptr<lw_audio_stream, void (*)(lw_audio_stream *)>;

inline AudioStream audio_stream(const lw_model *model, const lw_audio_stream_options &options = f32_filter) {
    lw_audio_stream *made = nullptr;
    REQUIRE_MESSAGE(lw_audio_stream_create(model, &options, &made) == LW_OK, lw_last_error());
    return {made, lw_audio_stream_destroy};
}

inline lw_audio_stream_info info_of(const lw_audio_stream *stream) {
    lw_audio_stream_info info = LW_AUDIO_STREAM_INFO_INIT;
    REQUIRE(lw_audio_stream_get_info(stream, &info) == LW_OK);
    return info;
}

// What is ready, in pieces of `room`. Returns the last status.
template <class T> lw_status pull(lw_audio_stream *stream, std::vector<T> &heard, size_t room = 1000) {
    std::vector<T> piece(room);
    lw_status status;
    size_t n = 0;
    while ((status = lw_audio_stream_pull(stream, piece.data(), room, &n)) == LW_OK) {
        REQUIRE(n > 0);
        REQUIRE(n <= room);
        heard.insert(heard.end(), piece.begin(), piece.begin() + static_cast<long>(n));
    }
    return status;
}

// Pushes all of it, in pieces of `cut`, pulling in between.
template <class T> void push(lw_audio_stream *stream, const std::vector<T> &x, std::vector<T> &heard,
                             size_t cut = SIZE_MAX, size_t room = 1000) {
    for (size_t done = 0, taken = 0; done < x.size(); done += taken) {
        REQUIRE(lw_audio_stream_push(stream, x.data() + done, std::min(cut, x.size() - done), &taken) ==
                LW_OK);
        REQUIRE(pull(stream, heard, room) == LW_AGAIN);
    }
}

// All of it, and the end.
template <class T> std::vector<T> filtered(lw_audio_stream *stream, const std::vector<T> &x,
                                           size_t cut = SIZE_MAX, size_t room = 1000) {
    std::vector<T> heard;
    push(stream, x, heard, cut, room);
    REQUIRE(lw_audio_stream_finish(stream) == LW_OK);
    REQUIRE(pull(stream, heard, room) == LW_END);
    return heard;
}

} // namespace longwave::test
