#include "tests/fuzz/served_models.h"
#include "tests/fuzz/must.h"
#include <algorithm>

namespace longwave::fuzz {

const std::vector<std::vector<uint8_t>> &served_artifacts() {
    static const std::vector<std::vector<uint8_t>> all = {
        test::audio_model().bytes(), test::family_model().bytes(), test::token_model().bytes(),
        test::failing_model().bytes(), test::spotter_model().bytes()};
    return all;
}

// They stay open, and the list outlives the search for leaks.
static lw_model *served(size_t index) {
    static auto &models = *new std::vector<lw_model *>(served_artifacts().size());
    if (models[index]) return models[index];
    lw_open_options options{};
    options.struct_size = sizeof options;
    options.allow_unsigned_code = 1;
    const std::vector<uint8_t> &bytes = served_artifacts()[index];
    must(lw_model_open_memory(bytes.data(), bytes.size(), &options, &models[index]) == LW_OK,
         "the test model opens");
    return models[index];
}

} // namespace longwave::fuzz

extern "C" {

lw_status open_bytes(const char *, const uint8_t *bytes, size_t n, lw_model **model) {
    using namespace longwave::fuzz;
    const auto &all = served_artifacts();
    size_t index = n > 0 ? bytes[0] : 0;
    for (size_t i = 0; i < all.size(); i++)
        if (std::equal(all[i].begin(), all[i].end(), bytes, bytes + n)) index = i;
    if (index >= all.size()) return LW_BAD_ARTIFACT;
    *model = served(index);
    return LW_OK;
}
void close_model(lw_model *) {}
lw_status new_stream(const lw_model *model, const lw_stream_options *options, lw_stream **stream) {
    return lw_stream_create(model, options, stream);
}
void end_stream(lw_stream *stream) { lw_stream_destroy(stream); }
lw_status verify_model(const lw_model *model, double *worst) { return lw_model_verify(model, worst); }
}
