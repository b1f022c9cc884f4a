#include "compiler/spirv/rewrite_chain.h"
#include "compiler/spirv/chain_body.h"
#include "compiler/spirv/validate.h"
#include <algorithm>
#include <bit>

namespace longwave::spirv {

namespace {

uint32_t threads_of(const Module &module) { return module.local[0] * module.local[1] * module.local[2]; }
uint32_t count_of(const std::array<uint32_t, 3> &grid) { return grid[0] * grid[1] * grid[2]; }

bool has_barrier(const Module &module) {
    bool found = false;
    each_instruction(module.functions, [&](spv::Op op, Operands) { found |= op == spv::OpControlBarrier; });
    return found;
}

// One part, and how its workgroups share the threads of the chain.
struct Piece {
    const ChainPart &part;
    Module module; // its ids are those of the chain
    std::map<uint32_t, SharedArray> shared = {};
    uint32_t own = 0, count = 0; // threads of a workgroup, and workgroups
    bool waits_within = false;   // its threads wait for each other
    uint32_t side_by_side = 1;   // workgroups
    uint32_t slots = 1;          // the same, with threads that are too few for one
    bool guarded = false;        // some threads have no workgroup in the last trip: they store nothing

    Piece(const ChainPart &of, Module taken, uint32_t threads)
        : part(of), module(std::move(taken)), own(threads_of(module)), count(count_of(of.grid)),
          waits_within(has_barrier(module)) {
        expect(own > 0 && own <= threads, "more threads than the chain has");
        side_by_side = waits_within ? threads / own : std::min(threads / own, count);
        // All threads take part in its barriers, those without a workgroup as well.
        guarded = waits_within && (threads % own != 0 || count % side_by_side != 0);
        slots = waits_within ? (threads + own - 1) / own : side_by_side;
    }

    const ChainBuffer &buffer(const Buffer &of) const {
        expect(of.binding < part.buffers.size(), "a buffer without an argument");
        expect(of.array != 0, "a buffer that is not a struct of one array");
        return part.buffers[of.binding];
    }
};

class Chain {
public:
    Chain(const std::vector<ChainPart> &parts, uint32_t threads, uint32_t table, uint32_t row)
        : threads_(threads), table_binding_(table), row_words_(row) {
        for (const ChainPart &part : parts) {
            pieces_.emplace_back(part, module_.take(part.words), threads);
            Piece &piece = pieces_.back();
            piece.shared = shared_.place(piece.module, piece.slots, module_);
            annotate(piece);
        }
    }

    ChainedModule run() {
        const uint32_t pointer =
                           module_.type(spv::OpTypePointer, {spv::StorageClassInput, module_.type_triple()}),
                       workgroup = input(pointer, spv::BuiltInWorkgroupId),
                       local = input(pointer, spv::BuiltInLocalInvocationId);
        declare_table();
        const uint32_t shared_bytes = shared_.declare(module_);
        const uint32_t stream = first_of(workgroup, 2);
        thread_ = first_of(local, 0);
        row_ = code_.number(spv::OpIMul, {stream, module_.constant(row_words_)});
        for (const Piece &piece : pieces_) write(piece);
        const Words code = code_.take();
        return {module_.assemble(code, {workgroup, local}, threads_), shared_bytes};
    }

private:
    // ---- declarations ----
    // Descriptors of the chain in place of the part's own. Several variables may lie behind one.
    void annotate(const Piece &piece) {
        std::set<uint32_t> changing; // structs whose bytes some part writes
        for (const auto &[variable, buffer] : piece.module.buffers)
            if (piece.buffer(buffer).changes) changing.insert(buffer.block);
        const auto access = [](uint32_t decoration) {
            return decoration == spv::DecorationNonWritable || decoration == spv::DecorationNonReadable;
        };
        each_instruction(piece.module.annotations, [&](spv::Op op, Operands o) {
            if (op == spv::OpDecorate && o.size() > 2 &&
                (o[1] == spv::DecorationBinding || o[1] == spv::DecorationBuiltIn))
                return;
            if (op == spv::OpMemberDecorate && access(o[2]) && changing.contains(o[0])) return;
            if (op == spv::OpDecorate && piece.module.buffers.contains(o[0]) &&
                (access(o[1]) || o[1] == spv::DecorationRestrict))
                return;
            module_.annotate(op, o);
        });
        for (const auto &[variable, buffer] : piece.module.buffers) {
            const ChainBuffer &of = piece.buffer(buffer);
            module_.decorate({variable, spv::DecorationBinding, of.descriptor});
            module_.decorate({variable, spv::DecorationAliased});
            if (of.changes) module_.decorate({variable, spv::DecorationCoherent});
        }
    }

    uint32_t input(uint32_t pointer, spv::BuiltIn built_in) {
        const uint32_t variable = module_.id();
        module_.declare(spv::OpVariable, {pointer, variable, spv::StorageClassInput});
        module_.decorate({variable, spv::DecorationBuiltIn, static_cast<uint32_t>(built_in)});
        return variable;
    }

    uint32_t first_of(uint32_t variable, uint32_t component) {
        const uint32_t all = code_.value(spv::OpLoad, module_.type_triple(), {variable});
        return code_.number(spv::OpCompositeExtract, {all, component});
    }

    void declare_table() {
        const uint32_t word = module_.type_uint(), array = module_.id(), block = module_.id();
        module_.declare(spv::OpTypeRuntimeArray, {array, word});
        module_.declare(spv::OpTypeStruct, {block, array});
        const uint32_t pointer = module_.type(spv::OpTypePointer, {spv::StorageClassUniform, block});
        table_ = module_.id();
        module_.declare(spv::OpVariable, {pointer, table_, spv::StorageClassUniform});
        module_.decorate({array, spv::DecorationArrayStride, 4});
        module_.decorate({block, spv::DecorationBufferBlock});
        module_.annotate(spv::OpMemberDecorate, {block, 0, spv::DecorationOffset, 0});
        module_.decorate({table_, spv::DecorationDescriptorSet, 0});
        module_.decorate({table_, spv::DecorationBinding, table_binding_});
        module_.decorate({table_, spv::DecorationAliased});
    }

    // ---- code ----
    void write(const Piece &piece) {
        const bool reuses = shared_in_use_ && !piece.shared.empty();
        if (piece.part.waits || reuses) {
            code_.barrier();
            shared_in_use_ = false;
        }
        shared_in_use_ |= !piece.shared.empty();
        const std::map<uint32_t, uint32_t> offsets = offsets_of(piece);
        const bool one = threads_ == piece.own;
        const uint32_t within = one ? thread_ : code_.modulo(thread_, piece.own);
        const ChainBody body{.part = piece.module,
                             .offsets = offsets,
                             .shared = piece.shared,
                             .slots = piece.slots,
                             .slot = one ? module_.constant(0) : code_.divide(thread_, piece.own),
                             .thread = code_.triple(within, piece.module.local)};
        const uint32_t trips = (piece.count + piece.side_by_side - 1) / piece.side_by_side;
        if (trips > 1) return piece.waits_within ? write_trips(piece, body, trips) : write_loop(piece, body);
        const uint32_t end = module_.id();
        if (piece.waits_within) write_trip(piece, body, body.slot, end);
        else if (piece.own * piece.count == threads_) write_group(piece, body, body.slot, end);
        else write_guarded(piece, body, end);
        code_.write(spv::OpLabel, {end});
    }

    // By variable: where the part's buffers begin, in elements.
    std::map<uint32_t, uint32_t> offsets_of(const Piece &piece) {
        std::map<uint32_t, uint32_t> offsets;
        for (const auto &[variable, buffer] : piece.module.buffers) {
            const uint32_t at =
                code_.number(spv::OpIAdd, {row_, module_.constant(piece.buffer(buffer).word)});
            offsets[variable] = piece.part.scalars == buffer.binding ? at : offset_at(at, buffer.stride);
        }
        return offsets;
    }

    uint32_t offset_at(uint32_t word, uint32_t stride) {
        expect(stride == 4 || stride == 8 || stride == 16,
               "a buffer whose elements have neither 4 nor 8 nor 16 bytes");
        const uint32_t pointer =
                           module_.type(spv::OpTypePointer, {spv::StorageClassUniform, module_.type_uint()}),
                       address =
                           code_.value(spv::OpAccessChain, pointer, {table_, module_.constant(0), word});
        return code_.divide(code_.number(spv::OpLoad, {address}), stride / 4);
    }

    void write_group(const Piece &piece, ChainBody body, uint32_t group, uint32_t end) {
        body.group = code_.triple(group, piece.part.grid);
        write_body(body, end, code_);
    }

    // Threads without a workgroup leave it out.
    void write_guarded(const Piece &piece, const ChainBody &body, uint32_t end) {
        const uint32_t begin = module_.id(),
                       exists = code_.truth(spv::OpULessThan, {body.slot, module_.constant(piece.count)});
        code_.write(spv::OpSelectionMerge, {end, spv::SelectionControlMaskNone});
        code_.write(spv::OpBranchConditional, {exists, begin, end});
        code_.write(spv::OpLabel, {begin});
        write_group(piece, body, body.slot, end);
    }

    // for (group = slot; group < count; group += side by side)
    void write_loop(const Piece &piece, const ChainBody &body) {
        const uint32_t step = piece.side_by_side;
        uint32_t first = body.slot;
        if (threads_ % piece.own) { // those behind the last whole workgroup have none
            const uint32_t has_one = code_.truth(spv::OpULessThan, {first, module_.constant(step)});
            first = code_.number(spv::OpSelect, {has_one, first, module_.constant(piece.count)});
        }
        code_.loop(first, piece.count, step,
                   [&](uint32_t group, uint32_t next) { write_group(piece, body, group, next); });
    }

    // The same number of trips in all threads, for its barriers.
    void write_trips(const Piece &piece, const ChainBody &body, uint32_t trips) {
        code_.loop(module_.constant(0), trips, 1, [&](uint32_t trip, uint32_t next) {
            const uint32_t before = code_.number(spv::OpIMul, {trip, module_.constant(piece.side_by_side)}),
                           group = code_.number(spv::OpIAdd, {before, body.slot}), end = module_.id();
            write_trip(piece, body, group, end);
            code_.write(spv::OpLabel, {end});
            code_.barrier(); // its shared memory is free again
            code_.write(spv::OpBranch, {next});
        });
    }

    // A thread without a workgroup computes the last one again and stores nothing.
    void write_trip(const Piece &piece, ChainBody body, uint32_t group, uint32_t end) {
        if (piece.guarded) {
            body.exists = code_.truth(spv::OpULessThan, {group, module_.constant(piece.count)});
            if (threads_ % piece.own) {
                const uint32_t whole =
                    code_.truth(spv::OpULessThan, {body.slot, module_.constant(piece.side_by_side)});
                body.exists = code_.truth(spv::OpLogicalAnd, {whole, body.exists});
            }
            group = code_.number(spv::OpSelect, {body.exists, group, module_.constant(piece.count - 1)});
        }
        write_group(piece, body, group, end);
    }

    const uint32_t threads_, table_binding_, row_words_;
    ChainModule module_;
    ChainShared shared_;
    ChainCode code_{module_};
    std::vector<Piece> pieces_;
    uint32_t table_ = 0, thread_ = 0, row_ = 0;
    bool shared_in_use_ = false; // since the last barrier
};

} // namespace

uint32_t chain_threads(const std::vector<ChainPart> &parts, uint32_t most) {
    constexpr uint32_t enough = 256; // more threads would have fewer registers each
    uint32_t threads = 1, wanted = 1;
    for (const ChainPart &part : parts) {
        const uint32_t own = threads_of(Module::parse(part.words));
        if (own == 0) return 0;
        threads = std::max(threads, own);
        wanted = std::max(wanted, own * count_of(part.grid));
    }
    threads = std::max(threads, std::min({std::bit_ceil(wanted), enough, most}));
    return threads <= most ? threads : 0;
}

ChainedModule rewrite_chain(const std::vector<ChainPart> &parts, uint32_t threads, uint32_t table,
                            uint32_t row) {
    ChainedModule made = Chain(parts, threads, table, row).run();
    validate(made.words);
    return made;
}

} // namespace longwave::spirv
