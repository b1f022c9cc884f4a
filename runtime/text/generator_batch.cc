// lw_batch_next: generators whose streams read their next ids together.
#include "runtime/core/model.h"
#include "runtime/core/status.h"
#include "runtime/stream/batch.h"
#include "runtime/text/generator.h"

using namespace longwave;
using namespace longwave::runtime;

namespace {

lw_stream *of_generators(const void *list, size_t i) {
    return static_cast<lw_generator *const *>(list)[i]->stream;
}

} // namespace

lw_status lw_batch_next(lw_batch *batch, lw_generator *const *generators, size_t n_generators,
                        lw_generator_token *tokens, lw_status *statuses) {
    if (!batch || (n_generators > 0 && (!generators || !tokens || !statuses)))
        return fail(LW_INVALID_ARGUMENT, "batch, generators, tokens or statuses is NULL");
    for (size_t i = 0; i < n_generators; ++i)
        if (!generators[i] || tokens[i].struct_size != tokens[0].struct_size ||
            tokens[i].struct_size < sizeof(size_t))
            return fail(
                LW_INVALID_ARGUMENT,
                {"generator ", uint64_t(i), " of the call is NULL, or struct_size of its token is not set"});
    const StreamList list = {generators, n_generators, of_generators};
    if (lw_status status = hold_streams(*batch, list)) return status;
    for (size_t i = 0; i < n_generators; ++i) {
        begin_rows(*generators[i]);
        lw_generator_token token{};
        statuses[i] = choose_next(*generators[i], token);
        if (statuses[i] == LW_OK) copy_sized(tokens + i, token);
    }
    bool ran;
    const lw_status first = run_pending(*batch, list, &ran);
    release_streams(list);
    for (size_t i = 0; i < n_generators; ++i) {
        lw_generator &generator = *generators[i];
        end_rows(generator);
        if (statuses[i] == LW_OK && generator.stream->state->life == Life::failed) statuses[i] = LW_DEVICE;
        if (statuses[i] != LW_OK) continue;
        lw_generator_token token{};
        read_sized(tokens + i, &token);
        remember_next(generator, token);
        copy_sized(tokens + i, token);
    }
    return first;
}
