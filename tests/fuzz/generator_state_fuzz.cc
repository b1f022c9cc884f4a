// Saved states of generators. The first byte says whether the state is given the right identity
// (bit 0), the rest is the state. What must hold: any bytes are loaded or give LW_BAD_STATE; a
// refused state changes nothing; an accepted one is saved again as it came (but for the checksums
// that earlier versions did not write), and text goes on from it or is refused with a status.
#include "longwave/generator.h"
#include "tests/fuzz/earlier_versions.h"
#include "tests/fuzz/must.h"
#include "tests/support/tiny_text.h"
#include <algorithm>
#include <cstring>

using namespace longwave;
using fuzz::must;

namespace {

struct Subject {
    lw_stream *stream = nullptr;
    lw_generator *generator = nullptr;
    std::vector<uint8_t> fresh; // the state at reset

    Subject() {
        const std::vector<uint8_t> bytes = test::bigram_model(test::alphabet()).bytes();
        lw_open_options open{};
        open.struct_size = sizeof open;
        open.allow_unsigned_code = 1;
        lw_model *model = nullptr;
        must(lw_model_open_memory(bytes.data(), bytes.size(), &open, &model) == LW_OK,
             "the test model opens");
        must(lw_stream_create(model, nullptr, &stream) == LW_OK, "and streams");
        static const int32_t ids[] = {'a', 'b'};
        static const lw_stop_sequence stop = {ids, 2};
        lw_generator_options options{};
        options.struct_size = sizeof options;
        options.temperature = 1;
        options.repetition_penalty = 1.5f;
        options.recent = 1000; // as many as a state may hold: what is loaded is saved again
        options.stops = &stop;
        options.n_stops = 1;
        must(lw_generator_create(stream, &options, &generator) == LW_OK, "and writes");
        fresh = saved();
    }
    std::vector<uint8_t> saved() const {
        size_t n = 0;
        must(lw_generator_save(generator, nullptr, 0, &n) == LW_OK, "the size of a state");
        std::vector<uint8_t> bytes(n);
        must(lw_generator_save(generator, bytes.data(), n, &n) == LW_OK && n == bytes.size(),
             "a state is saved");
        return bytes;
    }
};

constexpr size_t header = 32, header_checksum = 24; // bytes ahead of the ids

void same_but_for_earlier_versions(std::vector<uint8_t> loaded, const std::vector<uint8_t> &saved,
                                   uint64_t ids) {
    must(loaded.size() == saved.size(), "what was loaded is as long as what is saved");
    std::copy_n(saved.begin() + header_checksum, sizeof(uint64_t), loaded.begin() + header_checksum);
    fuzz::as_saved_today(loaded, saved, header + 4 * ids);
    must(saved == loaded, "what was loaded is what is saved");
}

// The identity of the stream's state lies behind the ids.
void make_known(std::vector<uint8_t> &state, const std::vector<uint8_t> &fresh) {
    constexpr size_t identity = 32;
    uint64_t ids = 0;
    if (state.size() < header) return;
    std::memcpy(state.data(), fresh.data(), sizeof ids); // the magic number
    std::memcpy(&ids, state.data() + sizeof ids, sizeof ids);
    if (ids > state.size() / 4 || header + 4 * ids + identity > state.size()) return;
    std::memcpy(state.data() + header + 4 * ids, fresh.data() + header, identity);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Subject subject;
    if (size < 1) return 0;
    std::vector<uint8_t> state(data + 1, data + size);
    if (data[0] & 1) make_known(state, subject.fresh);
    must(lw_generator_reset(subject.generator) == LW_OK, "reset");
    const lw_status status = lw_generator_load(subject.generator, state.data(), state.size());
    must(status == LW_OK || status == LW_BAD_STATE, "a state is loaded or refused as one");
    if (status != LW_OK) {
        must(subject.saved() == subject.fresh, "a refused state changes nothing");
        return 0;
    }
    uint64_t ids = 0;
    std::memcpy(&ids, state.data() + 8, sizeof ids);
    if (ids <= 1000) same_but_for_earlier_versions(state, subject.saved(), ids);
    lw_generator_token token{};
    token.struct_size = sizeof token;
    for (int i = 0; i < 20; ++i) {
        const lw_status next = lw_generator_next(subject.generator, &token);
        if (next == LW_END || next == LW_WRONG_STATE || next == LW_NOT_FINITE) break;
        must(next == LW_OK && token.id >= 0 && token.id < 256, "an id of the vocabulary follows");
    }
    return 0;
}
