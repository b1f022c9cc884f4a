#include "tests/fuzz/guarded.h"
#include "formats/artifact/geometry.h"
#include "runtime/platform/cpu.h"
#include "tests/fuzz/must.h"
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <memory>
#include <sys/mman.h>
#include <vector>

namespace longwave::fuzz {
namespace {

using artifact::count;

constexpr uint64_t page = 4096, most_bytes = 64 << 20, most_calls = 20000;

uint64_t pages(uint64_t bytes) { return (bytes + page - 1) / page * page; }

// Memory between two pages that are not there.
class Guard {
public:
    Guard(uint64_t bytes, bool at_front) : whole_(pages(bytes) + 2 * page) {
        void *memory = mmap(nullptr, whole_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        must(memory != MAP_FAILED, "address space");
        all_ = static_cast<uint8_t *>(memory);
        at_ = all_ + page + (at_front ? 0 : pages(bytes) - (bytes + 63) / 64 * 64);
        allow(true);
    }
    ~Guard() { munmap(all_, whole_); }
    Guard(const Guard &) = delete;

    uint8_t *at() const { return at_; }
    void allow(bool write) {
        const int how = write ? PROT_READ | PROT_WRITE : PROT_READ;
        if (whole_ > 2 * page) must(mprotect(all_ + page, whole_ - 2 * page, how) == 0, "protection");
    }
    void make_executable() {
        must(mprotect(all_ + page, whole_ - 2 * page, PROT_READ | PROT_EXEC) == 0, "protection");
    }

private:
    uint64_t whole_;
    uint8_t *all_ = nullptr, *at_ = nullptr;
};

// What kernels are called with (schedules/contract/kernel.h).
struct Dimension {
    int32_t min, extent, stride;
    uint32_t flags;
};
struct Buffer {
    uint64_t device;
    const void *interface;
    uint8_t *host;
    uint64_t flags;
    uint8_t code, bits;
    uint16_t lanes;
    int32_t dimensions;
    Dimension *dim;
    void *padding;
};
struct Scratch {
    char *base;
    uint64_t size, used;
};

sigjmp_buf back;
void caught(int) { siglongjmp(back, 1); }

// While it lives, a touch of what is not there leads back to `back`.
struct Catch {
    Catch() {
        struct sigaction action = {};
        action.sa_handler = caught;
        for (int i = 0; i < 2; ++i) must(sigaction(signals[i], &action, &before[i]) == 0, "a handler");
    }
    ~Catch() {
        for (int i = 0; i < 2; ++i) sigaction(signals[i], &before[i], nullptr);
    }
    static constexpr int signals[2] = {SIGSEGV, SIGBUS};
    struct sigaction before[2];
};

class Machine {
public:
    Machine(const artifact::View &view, bool at_front)
        : view_(view), plan_(view.plan()), at_front_(at_front) {
        const artifact::Host host = platform::host();
        variant_ = view.variant(host.machine, host.features);
    }

    Guarded run() {
        if (!affordable()) return std::move(result_);
        result_.ran = true;
        load();
        Catch handlers;
        for (const fb::Entry *entry : *plan_.entries())
            if (entry->kind() == fb::EntryKind::prepare) enter(*entry), steps(*entry, entry->steps(), 0, 0);
        for (const fb::Entry *entry : *plan_.entries()) {
            if (entry->kind() == fb::EntryKind::run)
                for (const uint32_t length : {0u, 1u, entry->block() / 2 + 1, entry->block()})
                    whole(*entry, length);
            if (entry->kind() == fb::EntryKind::stream) stream(*entry);
        }
        return std::move(result_);
    }

private:
    // ---- what it takes ----

    bool affordable() const {
        uint64_t bytes = plan_.derived_bytes() + plan_.state_bytes(), calls = 0;
        for (const fb::Entry *entry : *plan_.entries()) {
            bytes += entry->arena_bytes() + entry->cache_bytes();
            for (const auto *list : {entry->steps(), entry->rebuild()})
                for (uint32_t i = 0; i < count(list); ++i)
                    calls += uint64_t{list->Get(i)->tiles()} * (1 + list->Get(i)->replay_from());
        }
        for (uint32_t k = 0; variant_ && k < variant_->scratch()->size(); ++k)
            bytes += variant_->scratch()->Get(k);
        return bytes <= most_bytes && calls <= most_calls && (variant_ || plan_.kernels()->size() == 0);
    }

    std::unique_ptr<Guard> guard(uint64_t bytes) const { return std::make_unique<Guard>(bytes, at_front_); }

    void load() {
        if (variant_) {
            const artifact::Bytes image = view_.segment(variant_->segment());
            code_ = std::make_unique<Guard>(image.size, true);
            memcpy(code_->at(), image.data, image.size);
            code_->make_executable();
        }
        const artifact::Bytes bytes = view_.weights();
        space(fb::Space::weights) = guard(bytes.size);
        if (bytes.size > 0) memcpy(space(fb::Space::weights)->at(), bytes.data, bytes.size);
        space(fb::Space::weights)->allow(false);
        space(fb::Space::derived) = guard(plan_.derived_bytes());
        space(fb::Space::state) = guard(plan_.state_bytes());
    }

    std::unique_ptr<Guard> &space(fb::Space space) { return spaces_[static_cast<size_t>(space)]; }

    void enter(const fb::Entry &entry) {
        space(fb::Space::arena) = guard(entry.arena_bytes());
        space(fb::Space::cache) = guard(entry.cache_bytes());
        space(fb::Space::derived)->allow(entry.kind() == fb::EntryKind::prepare);
    }

    // ---- steps ----

    uint8_t *address(const fb::Place &place, uint64_t firing, uint32_t tile) {
        const uint64_t slot = (firing + place.slot_add()) % place.slots();
        return space(place.space())->at() + place.offset() + slot * place.slot_bytes() +
               tile * place.tile_bytes();
    }

    static int32_t value(const fb::Scalar &scalar, uint64_t firing, uint32_t tile, uint64_t length) {
        if (scalar.kind() == fb::ScalarKind::constant) return scalar.value();
        if (scalar.kind() == fb::ScalarKind::slot) {
            const auto slot = static_cast<__int128>((firing + scalar.add()) % scalar.modulus());
            return static_cast<int32_t>(slot * scalar.mul() + scalar.value() +
                                        __int128{tile} * scalar.tile_mul());
        }
        if (scalar.kind() == fb::ScalarKind::retired) return 0;
        if (scalar.kind() == fb::ScalarKind::filled) {
            const __int128 rows =
                __int128{firing} * scalar.mul() + scalar.add() + __int128{tile} * scalar.tile_mul();
            return static_cast<int32_t>(rows > scalar.value() ? scalar.value() : rows);
        }
        const __int128 rows =
            __int128{length} * scalar.mul() / scalar.modulus() - __int128{tile} * scalar.tile_mul();
        return static_cast<int32_t>(rows < 0 ? 0 : rows > scalar.value() ? scalar.value() : rows);
    }

    void call(const fb::Step &step, uint64_t firing, uint32_t tile, uint64_t length) {
        const auto &args = *plan_.kernels()->Get(step.kernel())->args();
        std::vector<Buffer> buffers(args.size());
        std::vector<std::vector<Dimension>> dims(args.size());
        std::vector<int32_t> values(args.size());
        const uint64_t scratch_bytes = variant_->scratch()->Get(step.kernel());
        const Guard scratch_memory(scratch_bytes, at_front_);
        Scratch scratch = {reinterpret_cast<char *>(scratch_memory.at()), scratch_bytes, 0};
        void *context = &scratch;
        std::vector<void *> pointers = {&context};
        for (uint32_t a = 0; a < args.size(); ++a) {
            const fb::KernelArg &arg = *args.Get(a);
            const fb::Binding &binding = *step.args()->Get(a);
            if (binding.scalar()) {
                values[a] = value(*binding.scalar(), firing, tile, length);
                pointers.push_back(&values[a]);
                continue;
            }
            for (uint32_t d = 0; d < count(arg.dims()); ++d)
                dims[a].push_back(
                    {0, static_cast<int32_t>(arg.dims()->Get(d)->extent()), arg.dims()->Get(d)->stride(), 0});
            const bool integer = arg.elem() == fb::Elem::i32;
            buffers[a] = {.host = address(*binding.place(), firing, tile),
                          .code = static_cast<uint8_t>(integer ? 0 : 2),
                          .bits = static_cast<uint8_t>(8 * bytes_of(artifact::elem_of(arg.elem()))),
                          .lanes = 1,
                          .dimensions = static_cast<int32_t>(dims[a].size()),
                          .dim = dims[a].data()};
            pointers.push_back(&buffers[a]);
        }
        using Function = int (*)(void **);
        reinterpret_cast<Function>(code_->at() + variant_->entry()->Get(step.kernel()))(pointers.data());
        ++result_.calls;
    }

    // What is copied to a GPU is read; what comes from it, and what it would have computed, is
    // written.
    [[gnu::noinline]] void elsewhere(const fb::Step &step) {
        if (step.kind() == fb::StepKind::call) return; // its places are seen by reach.h
        uint8_t *at = address(*step.args()->Get(0)->place(), 0, 0);
        if (step.kind() == fb::StepKind::to_device) {
            volatile uint8_t sum = 0;
            for (uint64_t byte = 0; byte < step.bytes(); ++byte) sum = sum + at[byte];
        }
        if (step.kind() == fb::StepKind::to_cpu) memset(at, 0, step.bytes());
    }

    [[gnu::noinline]] void one(const fb::Step &step, uint64_t firing, uint64_t length) {
        for (uint32_t tile = 0; tile < step.tiles(); ++tile) {
            if (step.kind() == fb::StepKind::call) {
                call(step, firing, tile, length);
                continue;
            }
            uint8_t *at = address(*step.args()->Get(0)->place(), firing, tile);
            if (step.kind() == fb::StepKind::zero) {
                memset(at, 0, step.bytes());
                continue;
            }
            const __int128 kept = __int128{length - length % step.whole()} * step.mul() / step.den();
            const uint64_t from = kept > step.rows() ? step.rows() : static_cast<uint64_t>(kept);
            memset(at + from * step.row_bytes(), 0, (step.rows() - from) * uint64_t{step.row_bytes()});
        }
    }

    // Runs `what`; false, and the fault told, when it touched what it may not.
    template <class What> bool attempt(const char *name, What what) {
        if (!result_.fault.empty()) return false;
        if (sigsetjmp(back, 1) == 0) {
            what();
            return true;
        }
        result_.fault =
            std::string(name) + " touches memory it may not"; // what the jump skipped is not given back
        return false;
    }

    using Steps = flatbuffers::Vector<flatbuffers::Offset<fb::Step>>;
    static const char *name_of(const fb::Step &step) { return step.name() ? step.name()->c_str() : "a step"; }

    void steps(const fb::Entry &entry, const Steps *list, uint64_t block, uint64_t length) {
        space(fb::Space::state)->allow(entry.kind() == fb::EntryKind::stream);
        for (uint32_t i = 0; i < count(list); ++i) {
            const fb::Step &step = *list->Get(i);
            if (block % step.period() != step.phase()) continue;
            const bool here = entry.device() == fb::DeviceKind::cpu || step.cpu();
            if (!attempt(name_of(step), [&] {
                    if (here) one(step, block / step.period(), length);
                    else elsewhere(step);
                }))
                return;
        }
    }

    // ---- entries ----

    [[gnu::noinline]] void write_rows(const fb::InputPort &port, uint64_t block) {
        const fb::Input &input = *plan_.inputs()->Get(port.input());
        const int fill = input.kind() == fb::InputKind::tokens ? 0 : 0x3c; // an id of each vocabulary; 0.0115
        for (uint64_t row = 0; row < port.rows(); ++row)
            memset(address(*port.place(), block, 0) + row * port.row_bytes(), fill, input.width() * 4);
    }
    [[gnu::noinline]] void read_rows(const fb::OutputPort &port, uint64_t block) {
        volatile uint8_t sum = 0;
        for (uint64_t row = 0; row < port.rows(); ++row) {
            const uint8_t *at = address(*port.place(), block / port.period(), 0) + row * port.row_bytes();
            for (uint64_t byte = 0; byte < uint64_t{port.width()} * 4; ++byte) sum = sum + at[byte];
        }
    }

    void fill(const fb::Entry &entry, uint64_t block) {
        for (uint32_t i = 0; i < count(entry.inputs()); ++i)
            attempt("an input", [&] { write_rows(*entry.inputs()->Get(i), block); });
    }
    void read(const fb::Entry &entry, uint64_t block) {
        for (uint32_t i = 0; i < count(entry.outputs()); ++i) {
            const fb::OutputPort &port = *entry.outputs()->Get(i);
            if (block % port.period() == port.phase()) attempt("an output", [&] { read_rows(port, block); });
        }
    }

    void whole(const fb::Entry &entry, uint32_t length) {
        enter(entry);
        space(fb::Space::state)->allow(false);
        fill(entry, 0);
        steps(entry, entry.steps(), 0, length);
        read(entry, 0);
    }

    void stream(const fb::Entry &entry) {
        enter(entry);
        space(fb::Space::state)->allow(true);
        memset(space(fb::Space::state)->at(), 0, plan_.state_bytes());
        for (const uint64_t from :
             {uint64_t{0}, uint64_t{1} << 20, (uint64_t{1} << 32) - 3, uint64_t{1} << 40}) {
            rebuild(entry, from);
            for (uint64_t block = from; block < from + 7; ++block) {
                space(fb::Space::state)->allow(true);
                fill(entry, block);
                steps(entry, entry.steps(), block, 0);
                read(entry, block);
            }
        }
    }

    void rebuild(const fb::Entry &entry, uint64_t block) {
        space(fb::Space::state)->allow(false);
        for (uint32_t i = 0; i < count(entry.rebuild()); ++i) {
            const fb::Step &step = *entry.rebuild()->Get(i);
            const uint64_t firings = block / step.period() + (block % step.period() > step.phase());
            for (uint64_t back_to = step.replay_from(); back_to > step.replay_to(); --back_to)
                if (back_to <= firings && !attempt(name_of(step), [&] { one(step, firings - back_to, 0); }))
                    return;
        }
    }

    const artifact::View &view_;
    const fb::Plan &plan_;
    const bool at_front_;
    const fb::CodeVariant *variant_ = nullptr;
    std::unique_ptr<Guard> code_, spaces_[static_cast<size_t>(fb::Space::MAX) + 1];
    Guarded result_;
};

} // namespace

Guarded run_guarded(const artifact::View &view, bool at_front) { return Machine(view, at_front).run(); }

} // namespace longwave::fuzz
