#include "formats/artifact/verify.h"
#include "formats/artifact/rules.h"
#include <cstdlib>
#include <cstring>

namespace longwave::artifact {

const Memory standard_memory = {[](void *, size_t size) { return malloc(size); }, [](void *, void *memory, size_t) { free(memory); }, nullptr};

Broken verify_header(const uint8_t *file, uint64_t size, Header *header) {
    Request request;
    request.file = file;
    request.size = size;
    Subject subject{request, file};
    if (Broken b = v1_length(subject)) return b;
    Header copy; // one reading: the rules below see what the caller gets
    memcpy(&copy, file, sizeof copy);
    subject.header = &copy;
    if (Broken b = v2_magic_and_version(subject)) return b;
    if (Broken b = v3_declared_size(subject)) return b;
    if (Broken b = v4_flags(subject)) return b;
    *header = copy;
    return {};
}

// Holds the right to make a View.
class Verifier {
public:
    static Broken run(const Request &request, View *view) {
        Subject subject{request, request.front ? request.front : request.file};
        if (Broken b = v1_length(subject)) return b;
        subject.header = reinterpret_cast<const Header *>(subject.front);
        if (Broken b = v2_magic_and_version(subject)) return b;
        if (Broken b = v3_declared_size(subject)) return b;
        if (Broken b = v4_flags(subject)) return b;
        if (Broken b = v5_flatbuffer(subject)) return b;
        using Rule = Broken (*)(const Subject &);
        // In the order of their numbers but for V9 and V13, which V8 to V12 lean on, and V10 and V14, which lean on V12.
        static constexpr Rule rules[] = {v6_caps,           v7_sizes,  v8_segments, v13_indices, v9_ranges,  v11_kernels, v12_calls, v10_lifetimes,
                                         v14_single_writes, v15_state, v16_names,   v17_variant, v18_values, v19_hashes,  v20_memory};
        for (Rule rule : rules)
            if (Broken b = rule(subject)) return b;
        view->header_ = subject.header;
        view->plan_ = subject.plan;
        view->file_ = request.file;
        return {};
    }
};

Broken verify(const Request &request, View *view) { return Verifier::run(request, view); }

} // namespace longwave::artifact
