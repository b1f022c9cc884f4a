// Which values of a run lie channel by channel, and which have a copy: by hand-made plans and
// signatures.
#include "compiler/plan/channel_major.h"
#include <doctest/doctest.h>

namespace channel_major_test {

using namespace longwave;
using namespace longwave::compiler;

namespace {

// Row by row a kernel that prefers channels moves four times as much.
constexpr uint32_t sectors_of_two_channels = 16;
constexpr double bytes_of_value = 16 * 64 * 4;

// Buffer b holds value 10 + b. Each argument of a kernel is {buffer, layout group}; it belongs to the
// node of its number.
class Plan {
public:
    explicit Plan(size_t buffers) {
        for (size_t b = 0; b < buffers; b++)
            plan_.buffers.push_back({.bytes = 1024, .value = static_cast<int>(10 + b)});
    }
    Step &call(const std::vector<std::pair<BufferId, uint8_t>> &arguments, bool prefers = false) {
        Step step{.spec = "kernel " + std::to_string(plan_.steps.size())};
        step.node = static_cast<int>(plan_.steps.size());
        schedules::Signature &signature = signatures_[step.spec];
        if (prefers) signature.sectors_by_row = sectors_of_two_channels;
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
    ChannelMajor found() const { return find_layouts(plan_, signatures_).channel_major; }
    ValueLayouts with_copies(double dispatch_bytes) const {
        return find_layouts(plan_, signatures_, {.dispatch_bytes = dispatch_bytes});
    }

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
    nobody.signature(1).sectors_by_row = schedules::ideal_sectors;
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
        CHECK(find_layouts(plan.plan(), plan.signatures(), {.clears_tails = false}).channel_major.empty());
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

// A convolution between the input and the output of the model.
static Plan between_ports() {
    Plan plan(2);
    plan.call({{0, 1}, {1, 1}}, true);
    plan.plan().inputs.push_back({.place = {.buffer = 0}});
    plan.plan().outputs.push_back({.place = {.buffer = 1}});
    return plan;
}

TEST_CASE("channel-major: copies, if they move less than what they save") {
    const Plan plan = between_ports();
    CHECK(plan.found().empty());
    // Three of four bytes of both values are lost, and both copies read and write one.
    const ValueLayouts cheap = plan.with_copies(0);
    CHECK(cheap.channel_major == ChannelMajor{11});
    CHECK(cheap.reorders ==
          std::vector<Reorder>{{.value = 10, .readers = {0}}, {.value = 11, .output = true}});
    CHECK(plan.with_copies(bytes_of_value - 1).reorders.size() == 2);
    for (const double dispatch : {bytes_of_value, 1e300}) {
        const ValueLayouts dear = plan.with_copies(dispatch);
        CHECK(dear.channel_major.empty());
        CHECK(dear.reorders.empty());
    }
    Plan less = plan; // half of the bytes are lost: two copies move twice as much
    less.signature(0).sectors_by_row = 8;
    CHECK(less.with_copies(0).reorders.empty());
}

TEST_CASE("channel-major: one copy for all kernels that read the other order") {
    Plan plan(6);
    plan.call({{0, 1}, {1, 2}});
    plan.call({{1, 1}, {2, 1}}, true);
    plan.call({{2, 0}, {3, 0}}); // two that read rows only
    plan.call({{2, 0}, {4, 0}});
    plan.call({{2, 1}, {5, 2}}); // one that reads both, and takes rows where nothing is gained
    plan.plan().inputs.push_back({.place = {.buffer = 0}});
    plan.plan().outputs.push_back({.place = {.buffer = 5}});
    const ValueLayouts layouts = plan.with_copies(0);
    CHECK(layouts.channel_major == ChannelMajor{11, 12});
    CHECK(layouts.reorders == std::vector<Reorder>{{.value = 12, .readers = {2, 3, 4}}});
}

TEST_CASE(
    "channel-major: no copy of what is fixed for other reasons, nor of rows that cannot be transposed") {
    Plan tiles = between_ports();
    tiles.plan().steps[0].tiles = 2;
    Plan offset = between_ports();
    std::get<Place>(offset.plan().steps[0].args[0]).offset = 64;
    Plan silence = between_ports();
    silence.plan().steps.push_back({.kind = Step::Kind::zero, .args = {Place{.buffer = 0}}});
    Plan narrow = between_ports();
    for (schedules::KernelArg &arg : narrow.signature(0).args) arg.dims[0].extent = 12;
    for (const Plan &plan : {tiles, offset, silence, narrow}) {
        const ValueLayouts layouts = plan.with_copies(0);
        CHECK(layouts.channel_major.empty());
        CHECK(layouts.reorders.empty());
    }
}

TEST_CASE("channel-major: a kernel changes the order within, where no other does it for less") {
    // A convolution, a chain of pointwise ops, and a reader.
    const auto before = [](std::vector<std::pair<BufferId, uint8_t>> reader) {
        Plan plan(5);
        plan.call({{0, 1}, {1, 2}});
        plan.call({{1, 1}, {2, 1}}, true);
        plan.call({{2, 1}, {3, 2}});
        plan.signature(2).prefers_one_order = true;
        plan.call(std::move(reader));
        plan.plan().inputs.push_back({.place = {.buffer = 0}});
        plan.plan().outputs.push_back({.place = {.buffer = 4}});
        return plan;
    };
    CHECK(before({{3, 1}, {4, 2}}).found() == ChannelMajor{11, 12, 13}); // a product changes it
    CHECK(before({{3, 0}, {4, 0}}).found() == ChannelMajor{11, 12});
}

} // namespace channel_major_test
