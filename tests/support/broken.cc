#include "tests/support/broken.h"
#include "formats/artifact/hash.h"
#include "runtime/platform/cpu.h"
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace longwave::test {

using namespace artifact;

Broken check(const std::vector<uint8_t> &bytes, uint64_t memory_limit) {
    // Exactly as long as the bytes, so that a sanitizer sees the first byte read behind them.
    uint8_t *copy = nullptr;
    if (posix_memalign(reinterpret_cast<void **>(&copy), 64, bytes.empty() ? 1 : bytes.size()) != 0)
        throw std::bad_alloc();
    if (!bytes.empty()) memcpy(copy, bytes.data(), bytes.size());
    const artifact::Host machine = platform::host();
    Request request;
    request.file = copy;
    request.size = bytes.size();
    request.host = &machine;
    request.memory_limit = memory_limit;
    View view;
    const Broken broken = verify(request, &view);
    if (static_cast<bool>(view) == static_cast<bool>(broken))
        throw std::logic_error("a View goes with soundness and nothing else");
    free(copy);
    return broken;
}

static void renew_root(std::vector<uint8_t> &bytes) {
    Header header;
    memcpy(&header, bytes.data(), sizeof header);
    if (header.plan_offset > bytes.size() || header.plan_bytes > bytes.size() - header.plan_offset)
        return; // nothing to renew: another rule's case
    root_hash(header, bytes.data() + header.plan_offset, header.root);
    memcpy(bytes.data(), &header, sizeof header);
}

std::vector<uint8_t> rewrite(const std::vector<uint8_t> &bytes,
                             const std::function<void(fb::PlanT &)> &edit) {
    std::vector<uint8_t> result = bytes;
    Header header;
    memcpy(&header, result.data(), sizeof header);
    fb::PlanT plan;
    fb::GetPlan(result.data() + header.plan_offset)->UnPackTo(&plan);
    edit(plan);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Plan::Pack(builder, &plan), fb::PlanIdentifier());
    if (builder.GetSize() != header.plan_bytes) throw std::logic_error("the plan's size changed");
    memcpy(result.data() + header.plan_offset, builder.GetBufferPointer(), builder.GetSize());
    renew_root(result);
    return result;
}

std::vector<uint8_t> patch(std::vector<uint8_t> bytes, size_t at, const std::vector<uint8_t> &with,
                           bool renew) {
    memcpy(bytes.data() + at, with.data(), with.size());
    if (renew) renew_root(bytes);
    return bytes;
}

} // namespace longwave::test
