#include "formats/artifact/verify.h"
#include "formats/artifact/rules.h"
#include <cstdlib>
#include <cstring>

namespace longwave::artifact {

const Memory standard_memory = {[](void *, size_t size) { return malloc(size); },
                                [](void *, void *memory, size_t) { free(memory); }, nullptr};

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
    static Broken check(Subject &subject) {
        if (Broken b = v1_length(subject)) return b;
        subject.header = reinterpret_cast<const Header *>(subject.front);
        if (Broken b = v2_magic_and_version(subject)) return b;
        if (Broken b = v3_declared_size(subject)) return b;
        if (Broken b = v4_flags(subject)) return b;
        if (Broken b = v5_flatbuffer(subject)) return b;
        using Rule = Broken (*)(const Subject &);
        // In the order of their numbers but for V16, which bounds the text that others walk over,
        // V9, V13 and V15, which V8 to V12 lean on, and V10, which leans on V14, as that does on
        // V12.
        static constexpr Rule rules[] = {v6_caps,     v16_names,         v7_sizes,    v8_segments,
                                         v13_indices, v9_ranges,         v11_kernels, v15_state,
                                         v12_calls,   v14_single_writes, v14_traffic, v10_lifetimes,
                                         v17_variant, v18_values,        v19_hashes,  v20_memory};
        for (Rule rule : rules)
            if (Broken b = rule(subject)) return b;
        return {};
    }

    static Broken run(const Request &request, View *view) {
        Subject subject{request, request.front ? request.front : request.file};
        if (!request.file) return broken(1, "there are no bytes");
        if (Broken b = check(subject)) return b;
        view->header_ = subject.header;
        view->plan_ = subject.plan;
        view->file_ = request.file;
        return {};
    }
};

Broken verify(const Request &request, View *view) { return Verifier::run(request, view); }

Broken verify_front(const uint8_t *front, uint64_t front_size, uint64_t file_size) {
    Request request;
    request.size = file_size;
    request.front = front;
    request.front_size = front_size;
    request.memory_limit = UINT64_MAX;
    request.check_hashes = false;
    Subject subject{request, front};
    return Verifier::check(subject);
}

} // namespace longwave::artifact
