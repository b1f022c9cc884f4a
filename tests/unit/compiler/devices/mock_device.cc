#include "tests/unit/compiler/devices/mock_device.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/verify.h"
#include "formats/artifact/write.h"
#include "runtime/cpu/device_cpu.h"
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>

namespace longwave::test {

namespace {

using runtime::DeviceModel;
using runtime::ModelSource;

// The artifact as the CPU device should see it: the mock's entries are its own, and the host's are
// another's.
class Swapped {
public:
    explicit Swapped(const artifact::View &view) {
        fb::PlanT plan;
        view.plan().UnPackTo(&plan);
        for (auto &entry : plan.entries) {
            if (entry->kind == fb::EntryKind::prepare) continue;
            const bool host = entry->device == fb::DeviceKind::cpu;
            entry->device = host ? fb::DeviceKind::gpu : fb::DeviceKind::cpu;
        }
        std::vector<artifact::SegmentData> segments;
        for (uint32_t i = 0; i < plan.segments.size(); ++i) {
            const artifact::Bytes bytes = view.segment(i);
            segments.push_back({plan.segments[i]->kind, {bytes.data, bytes.data + bytes.size}});
        }
        const auto file = artifact::write(std::move(plan), std::move(segments));
        if (!file) throw std::logic_error(file.status().message());
        const size_t size = (file->size() + 63) / 64 * 64;
        memory_.reset(static_cast<uint8_t *>(std::aligned_alloc(64, size)));
        std::memcpy(memory_.get(), file->data(), file->size());
        if (artifact::verify({.file = memory_.get(), .size = file->size()}, &view_))
            throw std::logic_error("the swapped artifact breaks a rule");
    }
    const artifact::View &view() const { return view_; }

private:
    struct Free {
        void operator()(uint8_t *memory) const { std::free(memory); }
    };
    std::unique_ptr<uint8_t, Free> memory_;
    artifact::View view_;
};

// By the view of the model that was opened.
std::map<const artifact::View *, Swapped> &swapped() {
    static std::map<const artifact::View *, Swapped> all;
    return all;
}

ModelSource for_cpu(const ModelSource &source) {
    ModelSource own = source;
    own.view = &swapped().try_emplace(source.view, *source.view).first->second.view();
    own.device = nullptr;
    return own;
}

runtime::ModelNeeds needs(const ModelSource &source) { return runtime::cpu_device.needs(for_cpu(source)); }

lw_status open(const ModelSource &source, DeviceModel **out) {
    ++mock_calls().opened;
    return runtime::cpu_device.open(for_cpu(source), out);
}

void close(DeviceModel *model) {
    ++mock_calls().closed;
    runtime::cpu_device.close(model);
}

uint64_t session_bytes(const ModelSource &source, const runtime::SessionKind &kind) {
    return runtime::cpu_device.session_bytes(for_cpu(source), kind);
}

lw_status run(runtime::Session &session, uint32_t entry, uint64_t block, const runtime::Extent &extent,
              runtime::ThreadPool *pool) {
    ++mock_calls().runs;
    return runtime::cpu_device.run(session, entry, block, extent, pool);
}

} // namespace

MockCalls &mock_calls() {
    static MockCalls calls;
    return calls;
}

std::shared_ptr<lw_device> mock_device() {
    static runtime::Device calls = runtime::cpu_device; // what it does not count is the CPU's as it is
    calls.kind = fb::DeviceKind::gpu;
    calls.needs = needs;
    calls.open = open;
    calls.close = close;
    calls.session_bytes = session_bytes;
    calls.run = run;
    mock_calls() = {};
    return {new lw_device{.version = lw_device::interface_version, .calls = &calls}, [](lw_device *device) {
                swapped().clear();
                delete device;
            }};
}

} // namespace longwave::test
