// Which values of a run lie channel by channel: by hand-made plans and signatures.
#include "compiler/plan/channel_major.h"
#include <doctest/doctest.h>

namespace channel_major_test {

using namespace longwave;
using namespace longwave::compiler;

namespace {

// Buffer b holds value 10 + b. Each argument of a kernel is {buffer, layout group}.
class Plan {
public:
    explicit Plan(size_t buffers) {
        for (size_t b = 0; b < buffers; b++)
            plan_.buffers.push_back({.bytes = 1024, .value = static_cast<int>(10 + b)});
    }
    Step &call(const std::vector<std::pair<BufferId, uint8_t>> &arguments, bool prefers = false) {
        Step step{.spec = "kernel " + std::to_string(plan_.steps.size())};
        schedules::Signature &signature = signatures_[step.spec];
        signature.prefers_channel_major = prefers;
        for (const auto &[buffer, group] : arguments) {
            step.args.emplace_back(Place{.buffer = buffer});
            schedules::KernelArg arg{.dims = {{16, 1}, {64, 16}}};
            arg.layout_group = group;
            signature.args.push_back(arg);
        }
        plan_.steps.push_back(step);
        return plan_.steps.back();
    }
    EntryPlan &plan() { return plan_; }
    schedules::Signature &signature(size_t step) { return signatures_["kernel " + std::to_string(step)]; }
    const KernelSignatures &signatures() const { return signatures_; }
    ChannelMajor found() const { return find_channel_major(plan_, signatures_); }

private:
    EntryPlan plan_;
    KernelSignatures signatures_;
};

// A product, a convolution that prefers it, a product.
Plan chain() {
    Plan plan(4);
    plan.call({{0, 1}, {1, 2}});
    plan.call({{1, 1}, {2, 1}}, true);
    plan.call({{2, 1}, {3, 2}});
    plan.plan().inputs.push_back({.place = {.buffer = 0}});
    plan.plan().outputs.push_back({.place = {.buffer = 3}});
    return plan;
}

} // namespace

TEST_CASE("channel-major: what a kernel prefers, between others that can read and write it") {
    CHECK(chain().found() == ChannelMajor{11, 12});
    Plan nobody = chain();
    nobody.signature(1).prefers_channel_major = false;
    CHECK(nobody.found().empty());
}

TEST_CASE("channel-major: one argument that must lie row by row holds all that change with it") {
    Plan reader = chain();
    reader.signature(2).args[0].layout_group = 0;
    CHECK(reader.found().empty()); // the input of the convolution too
    Plan port = chain();
    port.plan().outputs.push_back({.place = {.buffer = 2}});
    CHECK(port.found().empty());
    Plan memory = chain();
    memory.plan().buffers[1].value = -1;
    CHECK(memory.found().empty());
    Plan unknown = chain();
    unknown.plan().steps[2].spec = "another";
    CHECK(unknown.found().empty());
    Plan shared = chain(); // weights are no buffer of the entry
    shared.plan().steps[1].args.emplace_back(Place{.buffer = shared_buffer | 1});
    shared.signature(1).args.push_back({.dims = {{16, 1}}});
    CHECK(shared.found() == ChannelMajor{11, 12});
}

TEST_CASE("channel-major: steps and places that count in rows") {
    for (const Step::Kind kind : {Step::Kind::zero, Step::Kind::zero_tail, Step::Kind::to_cpu}) {
        Plan plan = chain();
        plan.plan().steps.push_back({.kind = kind, .args = {Place{.buffer = 1}}});
        // The end of a sequence has a kernel of its own, for float32.
        const bool tail = kind == Step::Kind::zero_tail;
        CHECK(plan.found() == (tail ? ChannelMajor{11, 12} : ChannelMajor{}));
        CHECK(find_channel_major(plan.plan(), plan.signatures(), false).empty());
        if (!tail) continue;
        std::get<Place>(plan.plan().steps.back().args[0]).offset = 64; // silence before the first row
        CHECK(plan.found().empty());
    }
    Plan tiles = chain();
    tiles.plan().steps[0].tiles = 2;
    CHECK(tiles.found().empty());
    Plan offset = chain(); // rows of silence before the first
    std::get<Place>(offset.plan().steps[2].args[0]).offset = 64;
    CHECK(offset.found().empty());
    Plan slots = chain();
    std::get<Place>(slots.plan().steps[1].args[1]).slots = 2;
    CHECK(slots.found().empty());
    Plan host = chain();
    host.plan().steps[2].cpu = true;
    CHECK(host.found().empty());
    Plan fewer = chain(); // a kernel that sees a part of the rows
    fewer.signature(2).args[0].dims[1].extent = 32;
    CHECK(fewer.found().empty());
}

TEST_CASE("channel-major: groups of one kernel are apart, and convolutions decide by themselves") {
    Plan plan(6);
    plan.call({{0, 1}, {1, 2}});
    plan.call({{1, 1}, {2, 1}}, true);
    plan.call({{2, 1}, {1, 2}, {3, 3}}); // a residual: reads the input of the convolution
    plan.call({{3, 1}, {4, 1}}, true);
    plan.call({{4, 0}, {3, 0}, {5, 0}}); // row by row
    plan.plan().inputs.push_back({.place = {.buffer = 0}});
    plan.plan().outputs.push_back({.place = {.buffer = 5}});
    CHECK(plan.found() == ChannelMajor{11, 12});
}

} // namespace channel_major_test
