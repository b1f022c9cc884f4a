#include "tests/unit/formats/artifact/corpus.h"
#include "formats/artifact/features.h"
#include "formats/artifact/modules.h"
#include "runtime/platform/cpu.h"
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace longwave::test {
namespace {

using namespace artifact;

// The bytes, 64-aligned, and as near before memory that is not there as that lets them be.
class Copy {
public:
    explicit Copy(const std::vector<uint8_t> &bytes) : pages_((bytes.size() / page + 1) * page) {
        void *memory =
            mmap(nullptr, pages_ + guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED || mprotect(memory, pages_, PROT_READ | PROT_WRITE) != 0)
            throw std::bad_alloc();
        memory_ = static_cast<uint8_t *>(memory);
        bytes_ = memory_ + pages_ - (bytes.size() + 63) / 64 * 64;
        if (!bytes.empty()) memcpy(bytes_, bytes.data(), bytes.size());
    }
    ~Copy() { munmap(memory_, pages_ + guard); }
    Copy(const Copy &) = delete;
    const uint8_t *get() const { return bytes_; }

private:
    static constexpr size_t page = 4096, guard = 1 << 20;
    size_t pages_;
    uint8_t *memory_, *bytes_;
};

Broken of_modules(const fb::Plan &plan, const uint8_t *file) {
    for (const fb::Segment *segment : *plan.segments()) {
        if (segment->kind() != fb::SegmentKind::modules) continue;
        ModulesView modules;
        if (const Broken broken = open_modules(plan, {file + segment->offset(), segment->size()}, &modules))
            return broken;
    }
    return {};
}

} // namespace

Broken verdict_of(const Sample &sample) {
    const Copy file(sample.bytes), front(sample.front);
    if (sample.modules_alone) return of_modules(*fb::GetPlan(file.get() + header_bytes), file.get());
    const artifact::Host machine = platform::host();
    Request request;
    request.file = sample.bytes.empty() ? nullptr : file.get();
    request.size = sample.claimed_size ? sample.claimed_size : sample.bytes.size();
    request.host = &machine;
    request.memory_limit = sample.memory_limit;
    if (!sample.front.empty()) {
        request.front = front.get();
        request.front_size = sample.front.size();
    }
    View view;
    const Broken broken = verify(request, &view);
    if (!sample.bytes.empty() && sample.front.empty()) {
        Header header;
        const Broken early = verify_header(request.file, request.size, &header);
        if (early.rule != (broken.rule <= 4 ? broken.rule : 0))
            return {255, "verify and verify_header disagree"};
    }
    return broken ? broken : of_modules(view.plan(), file.get());
}

void add_cases(Samples &samples, const char *group, Draft (*model)(), std::span<const Case> cases) {
    for (const Case &c : cases) {
        Draft draft = model();
        c.edit(draft);
        samples.push_back({std::string(group) + ": " + c.name, c.rule, draft.bytes()});
    }
}

Samples corpus() {
    Samples samples;
    header_samples(samples);
    plan_samples(samples);
    memory_samples(samples);
    modules_samples(samples);
    number_samples(samples);
    step_samples(samples);
    text_samples(samples);
    together_samples(samples);
    return samples;
}

} // namespace longwave::test
