// Saved states of streams. The first byte picks the model (bit 0: token ids; bit 2: several streams
// over one state, one of them with a cache; bit 3: a state that is saved by the names of its
// fields) and whether the state is given the right identity, and size and checksum (bit 1). The
// next byte says how much is pushed afterwards. The rest is the state. What must hold: any bytes
// are loaded or give LW_BAD_STATE; a refused state changes nothing; an accepted one is saved again
// as it came (by names: the second time as the first time); a stream goes on from it and, once
// finished, ends.
#include "longwave/longwave.h"
#include "tests/fuzz/earlier_versions.h"
#include "tests/fuzz/must.h"
#include "tests/support/named_state.h"
#include "tests/support/tiny_model.h"
#include <algorithm>
#include <cstring>

using namespace longwave;
using fuzz::must;

namespace {

constexpr uint32_t queue = 8;

struct Subject {
    lw_model *model = nullptr;
    lw_stream *stream = nullptr;
    bool tokens = false;
    std::vector<uint8_t> fresh; // the state at reset

    explicit Subject(const test::Draft &draft) {
        const std::vector<uint8_t> bytes = draft.bytes();
        lw_open_options options{};
        options.struct_size = sizeof options;
        options.allow_unsigned_code = 1;
        must(lw_model_open_memory(bytes.data(), bytes.size(), &options, &model) == LW_OK,
             "the test model opens");
        lw_input_info input{};
        input.struct_size = sizeof input;
        must(lw_model_input(model, 0, &input) == LW_OK, "it has an input");
        tokens = input.kind == LW_INPUT_TOKENS;
        lw_stream_options stream_options{};
        stream_options.struct_size = sizeof stream_options;
        stream_options.format = tokens ? LW_I32 : LW_F32;
        stream_options.queue = queue;
        must(lw_stream_create(model, &stream_options, &stream) == LW_OK, "and streams");
        fresh = saved();
    }

    std::vector<uint8_t> saved() const {
        size_t n = 0;
        must(lw_stream_save(stream, nullptr, 0, &n) == LW_OK, "the size of a state");
        std::vector<uint8_t> bytes(n);
        must(lw_stream_save(stream, bytes.data(), n, &n) == LW_OK && n == bytes.size(), "a state is saved");
        return bytes;
    }

    void pull_some(int limit, lw_status expected) {
        lw_stream_row row{};
        row.struct_size = sizeof row;
        lw_status status = LW_OK;
        float sum = 0;
        while (limit-- > 0 && (status = lw_stream_pull(stream, &row)) == LW_OK)
            for (uint32_t i = 0; i < row.width; ++i) sum += row.data[i]; // every value is there to be read
        [[maybe_unused]] static volatile float sink;
        sink = sum;
        must(status == expected, "pulling comes to its end");
    }
};

// What a state of this model must have whatever the fields hold.
void identify(const Subject &subject, bool named, std::vector<uint8_t> &state) {
    constexpr size_t identity = 32; // of a StreamState
    if (!named) {
        if (state.size() >= identity) std::memcpy(state.data(), subject.fresh.data(), identity);
        runtime::StreamState head;
        if (state.size() < sizeof head) return;
        std::memcpy(&head, state.data(), sizeof head);
        head.checksum = 0; // as earlier versions saved it
        std::memcpy(state.data(), &head, sizeof head);
        return;
    }
    runtime::SavedState head, fresh;
    if (state.size() < sizeof head) return;
    std::memcpy(&head, state.data(), sizeof head);
    std::memcpy(&fresh, subject.fresh.data(), sizeof fresh);
    std::memcpy(head.magic, fresh.magic, sizeof head.magic);
    head.version = fresh.version;
    head.schema = fresh.schema;
    std::memcpy(head.model, fresh.model, sizeof head.model);
    std::memcpy(head.weights, fresh.weights, sizeof head.weights);
    std::memcpy(state.data(), &head, sizeof head);
    test::seal(state);
}

void same_but_for_earlier_versions(const Subject &subject, std::vector<uint8_t> loaded) {
    const std::vector<uint8_t> saved = subject.saved();
    fuzz::as_saved_today(loaded, saved, 0);
    must(saved == loaded, "what was loaded is what is saved");
}

// Loading what was saved and saving it again gives the same bytes.
void settle_once(const Subject &subject) {
    const std::vector<uint8_t> saved = subject.saved();
    must(lw_stream_load(subject.stream, saved.data(), saved.size()) == LW_OK, "what was saved loads");
    must(subject.saved() == saved, "and is saved again as it was");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Subject of_layout[] = {Subject(test::audio_model()), Subject(test::token_model()),
                                  Subject(test::family_model())};
    static Subject of_names[] = {Subject(test::named_state(test::audio_model(), test::audio_block, 8)),
                                 Subject(test::named_state(test::token_model(), 1, 1)),
                                 Subject(test::named_state(test::family_model(), 8, 8))};
    if (size < 2) return 0;
    const bool named = data[0] & 8;
    Subject &subject = (named ? of_names : of_layout)[data[0] & 1 ? 1 : data[0] & 4 ? 2 : 0];
    std::vector<uint8_t> state(data + 2, data + size);
    if (data[0] & 2) identify(subject, named, state);

    must(lw_stream_reset(subject.stream) == LW_OK, "reset");
    const lw_status status = lw_stream_load(subject.stream, state.empty() ? data : state.data(),
                                            state.size()); // NULL would be another matter
    must(status == LW_OK || status == LW_BAD_STATE, "a state is loaded or refused as one");
    if (status != LW_OK) {
        must(subject.saved() == subject.fresh, "a refused state changes nothing");
        return 0;
    }
    if (named) settle_once(subject);
    else same_but_for_earlier_versions(subject, state);

    const size_t ticks = data[1];
    std::vector<float> samples(ticks, 0.25f);
    std::vector<int32_t> tokens(ticks, 3);
    const uint8_t *from = subject.tokens ? reinterpret_cast<const uint8_t *>(tokens.data())
                                         : reinterpret_cast<const uint8_t *>(samples.data());
    for (size_t done = 0; done < ticks;) {
        size_t taken = 0;
        const lw_status pushed = lw_stream_push(subject.stream, from + 4 * done, ticks - done, &taken);
        if (pushed == LW_WRONG_STATE) break; // the state was that of a finished stream
        must(pushed == LW_OK && taken <= ticks - done, "push takes what it is given");
        done += taken;
        if (done < ticks) subject.pull_some(1000, LW_AGAIN);
    }
    lw_stream_finish(subject.stream); // LW_WRONG_STATE when it is finished already
    subject.pull_some(1000, LW_END);
    return 0;
}
