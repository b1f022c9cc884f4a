#include "compiler/spirv/rewrite_chain.h"
#include "compiler/spirv/renumber.h"
#include "compiler/spirv/validate.h"
#include "formats/spirv/module.h"
#include <algorithm>
#include <bit>
#include <set>

namespace longwave::spirv {

namespace {

uint32_t threads_of(const Module &module) { return module.local[0] * module.local[1] * module.local[2]; }
uint32_t count_of(const std::array<uint32_t, 3> &grid) { return grid[0] * grid[1] * grid[2]; }

bool has_barrier(const Module &module) {
    bool found = false;
    each_instruction(module.functions, [&](spv::Op op, Operands) { found |= op == spv::OpControlBarrier; });
    return found;
}

// Types that a module may declare once only.
bool is_unique(spv::Op op) {
    return op == spv::OpTypeVoid || op == spv::OpTypeBool || op == spv::OpTypeInt || op == spv::OpTypeFloat ||
           op == spv::OpTypeVector || op == spv::OpTypePointer || op == spv::OpTypeFunction;
}

// The operands of such a type that are ids.
bool is_id(spv::Op op, size_t operand) {
    if (op == spv::OpTypeVector) return operand == 0;
    if (op == spv::OpTypePointer) return operand == 1;
    return op == spv::OpTypeFunction;
}

// An array of a part within the chain's shared memory: of each workgroup side by side.
struct Shared {
    uint32_t variable = 0, first = 0, length = 0;
};

// One part, and what the chain knows of it.
struct Piece {
    Module module; // its ids are those of the chain
    const ChainPart &part;
    bool waits_within = false; // its threads wait for each other
    uint32_t side_by_side = 1; // workgroups
    uint32_t slots = 1;        // the same, with threads that are too few for one
    bool guarded = false;      // some threads have no workgroup in the last turn: they store nothing
    std::map<uint32_t, uint32_t> offsets = {}; // by variable: what is added to its indices
    std::set<uint32_t> elements = {};          // pointers to elements of buffers
    std::map<uint32_t, Shared> shared = {};    // by variable
    // Values: coordinates of the workgroup and of the thread, number of the workgroup among those
    // side by side, and whether it exists (0: it does).
    uint32_t group = 0, thread = 0, slot = 0, exists = 0;
};

class Chain {
public:
    Chain(const std::vector<ChainPart> &parts, uint32_t threads, uint32_t table, uint32_t row)
        : threads_(threads), table_binding_(table), row_words_(row) {
        made_.header = {spirv_magic, 0x00010000, 0, 1, 0};
        for (const ChainPart &part : parts) pieces_.push_back(take(part));
    }

    ChainedModule run() {
        declare();
        for (Piece &piece : pieces_) write(piece);
        put(body_, spv::OpReturn, {});
        write_preamble();
        Words functions;
        put(functions, spv::OpFunction, {void_, main_, spv::FunctionControlMaskNone, signature_});
        put(functions, spv::OpLabel, {made_.new_id()});
        for (const Words *words : {&variables_, &body_}) functions.insert(functions.end(), words->begin(), words->end());
        put(functions, spv::OpFunctionEnd, {});
        made_.functions = std::move(functions);
        return {made_.assemble(), shared_bytes_};
    }

private:
    uint32_t id() { return made_.new_id(); }
    void code(spv::Op op, std::initializer_list<uint32_t> operands) { put(body_, op, operands); }
    void declare(spv::Op op, std::initializer_list<uint32_t> operands) {
        put(made_.declarations, op, operands);
    }
    void decorate(std::initializer_list<uint32_t> operands) {
        put(made_.annotations, spv::OpDecorate, operands);
    }
    uint32_t value(spv::Op op, uint32_t type, std::initializer_list<uint32_t> operands) {
        Words words{type, id()};
        words.insert(words.end(), operands.begin(), operands.end());
        put(body_, op, words);
        return words[1];
    }
    uint32_t constant(uint32_t word) {
        uint32_t &found = constants_[word];
        if (!found) declare(spv::OpConstant, {uint_type(), found = id(), word});
        return found;
    }

    // ---- declarations ----
    uint32_t unique_type(spv::Op op, Operands operands) {
        Words key{static_cast<uint32_t>(op)};
        key.insert(key.end(), operands.begin(), operands.end());
        uint32_t &found = types_[key];
        if (found) return found;
        Words declaration{found = id()};
        declaration.insert(declaration.end(), operands.begin(), operands.end());
        put(made_.declarations, op, declaration);
        declared_.insert(found);
        return found;
    }
    uint32_t unique_type(spv::Op op, std::initializer_list<uint32_t> operands) {
        return unique_type(op, Operands(operands.begin(), operands.size()));
    }
    uint32_t uint_type() { return unique_type(spv::OpTypeInt, {32, 0}); }

    // Gives the part ids of the chain, and adds its types and constants.
    Piece take(const ChainPart &part) {
        const Module old = Module::parse(part.words);
        expect(old.function_count == 1, "several functions");
        std::map<uint32_t, uint32_t> numbers;
        const auto number = [&](uint32_t of) {
            uint32_t &to = numbers[of];
            if (!to) to = id();
            return to;
        };
        each_instruction(old.preamble, [&](spv::Op op, Operands o) {
            if (op == spv::OpCapability) capabilities_.insert(o[0]);
            if (op == spv::OpExtension) extensions_.insert(text_of(o));
            if (op != spv::OpExtInstImport) return;
            uint32_t &import = imports_[text_of(o.subspan(1))];
            if (!import) import = id();
            numbers[o[0]] = import;
        });
        each_instruction(old.declarations, [&](spv::Op op, Operands o) {
            if (!is_unique(op)) return;
            Words operands(o.begin() + 1, o.end());
            for (size_t i = 0; i < operands.size(); i++)
                if (is_id(op, i)) operands[i] = number(operands[i]);
            Words key{static_cast<uint32_t>(op)};
            key.insert(key.end(), operands.begin(), operands.end());
            uint32_t &found = types_[key];
            if (!found) found = number(o[0]);
            numbers[o[0]] = found;
        });
        Words words = part.words;
        made_.header[1] = std::max(made_.header[1], words[1]);
        renumber(words, number);
        Piece piece{.module = Module::parse(words), .part = part};
        each_instruction(piece.module.declarations, [&](spv::Op op, Operands o) {
            if (is_unique(op) && !declared_.insert(o[0]).second) return;
            const bool replaced = op == spv::OpVariable && (o[2] == spv::StorageClassInput ||
                                                            o[2] == spv::StorageClassWorkgroup);
            if (!replaced) put(made_.declarations, op, o);
        });
        measure(piece);
        place_shared(piece);
        annotate(piece);
        return piece;
    }

    void measure(Piece &piece) {
        const uint32_t own = threads_of(piece.module), count = count_of(piece.part.grid);
        expect(own > 0 && own <= threads_, "more threads than the chain has");
        piece.waits_within = has_barrier(piece.module);
        piece.side_by_side = piece.waits_within ? threads_ / own : std::min(threads_ / own, count);
        // All threads take part in its barriers, those without a workgroup as well.
        piece.guarded = piece.waits_within && (threads_ % own != 0 || count % piece.side_by_side != 0);
        piece.slots = piece.waits_within ? (threads_ + own - 1) / own : piece.side_by_side;
    }

    // Parts use the same shared memory one after another: an array for each type of elements.
    // Workgroups side by side have a part of it each.
    void place_shared(Piece &piece) {
        std::map<uint32_t, std::pair<uint32_t, uint32_t>> arrays; // element and length by type
        std::map<uint32_t, uint32_t> words, pointees, taken;
        each_instruction(piece.module.declarations, [&](spv::Op op, Operands o) {
            if (op == spv::OpTypeInt || op == spv::OpTypeFloat) bytes_[o[0]] = o[1] / 8;
            if (op == spv::OpTypeBool) bytes_[o[0]] = 4;
            if (op == spv::OpTypeVector) bytes_[o[0]] = o[2] * bytes_[o[1]];
            if (op == spv::OpConstant) words[o[1]] = o[2];
            if (op == spv::OpTypeArray) arrays[o[0]] = {o[1], words[o[2]]};
            if (op == spv::OpTypePointer) pointees[o[0]] = o[2];
            if (op != spv::OpVariable || o[2] != spv::StorageClassWorkgroup) return;
            const auto found = arrays.find(pointees[o[0]]);
            expect(found != arrays.end(), "shared memory that is not an array");
            const auto [element, length] = found->second;
            Pool &pool = pools_[element];
            if (!pool.variable) pool.variable = id();
            piece.shared[o[1]] = {pool.variable, taken[element], length};
            taken[element] += length * piece.slots;
            pool.length = std::max(pool.length, taken[element]);
        });
    }

    void declare_shared() {
        for (const auto &[element, pool] : pools_) {
            const uint32_t length = constant(pool.length), array = id();
            declare(spv::OpTypeArray, {array, element, length});
            const uint32_t pointer = unique_type(spv::OpTypePointer, {spv::StorageClassWorkgroup, array});
            declare(spv::OpVariable, {pointer, pool.variable, spv::StorageClassWorkgroup});
            shared_bytes_ += pool.length * bytes_[element];
        }
    }

    // Descriptors of the chain in place of the part's own. Several variables may lie behind one.
    void annotate(const Piece &piece) {
        std::set<uint32_t> changing; // structs whose bytes some part writes
        for (const auto &[variable, buffer] : piece.module.buffers)
            if (buffer_of(piece, buffer).changes) changing.insert(buffer.block);
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
            put(made_.annotations, op, o);
        });
        for (const auto &[variable, buffer] : piece.module.buffers) {
            const ChainBuffer &of = buffer_of(piece, buffer);
            decorate({variable, spv::DecorationBinding, of.descriptor});
            decorate({variable, spv::DecorationAliased});
            if (of.changes) decorate({variable, spv::DecorationCoherent});
        }
    }

    static const ChainBuffer &buffer_of(const Piece &piece, const Buffer &buffer) {
        expect(buffer.binding < piece.part.buffers.size(), "a buffer without an argument");
        expect(buffer.array != 0, "a buffer that is not a struct of one array");
        return piece.part.buffers[buffer.binding];
    }

    // What the chain itself needs.
    void declare() {
        uint_ = uint_type();
        bool_ = unique_type(spv::OpTypeBool, {});
        void_ = unique_type(spv::OpTypeVoid, {});
        triple_ = unique_type(spv::OpTypeVector, {uint_, 3});
        signature_ = unique_type(spv::OpTypeFunction, {void_});
        main_ = id();
        const uint32_t input = unique_type(spv::OpTypePointer, {spv::StorageClassInput, triple_});
        counter_pointer_ = unique_type(spv::OpTypePointer, {spv::StorageClassFunction, uint_});
        declare(spv::OpVariable, {input, workgroup_ = id(), spv::StorageClassInput});
        declare(spv::OpVariable, {input, local_ = id(), spv::StorageClassInput});
        decorate({workgroup_, spv::DecorationBuiltIn, spv::BuiltInWorkgroupId});
        decorate({local_, spv::DecorationBuiltIn, spv::BuiltInLocalInvocationId});
        declare_table();
        declare_shared();
        zero_ = constant(0);
        scope_ = constant(spv::ScopeWorkgroup);
        semantics_ = constant(spv::MemorySemanticsAcquireReleaseMask | spv::MemorySemanticsUniformMemoryMask |
                              spv::MemorySemanticsWorkgroupMemoryMask);
        const uint32_t group = value(spv::OpLoad, triple_, {workgroup_}),
                       stream = value(spv::OpCompositeExtract, uint_, {group, 2}),
                       local = value(spv::OpLoad, triple_, {local_});
        thread_ = value(spv::OpCompositeExtract, uint_, {local, 0});
        row_ = value(spv::OpIMul, uint_, {stream, constant(row_words_)});
    }

    void declare_table() {
        const uint32_t array = id(), block = id();
        declare(spv::OpTypeRuntimeArray, {array, uint_});
        declare(spv::OpTypeStruct, {block, array});
        const uint32_t pointer = unique_type(spv::OpTypePointer, {spv::StorageClassUniform, block});
        word_pointer_ = unique_type(spv::OpTypePointer, {spv::StorageClassUniform, uint_});
        declare(spv::OpVariable, {pointer, table_ = id(), spv::StorageClassUniform});
        decorate({array, spv::DecorationArrayStride, 4});
        decorate({block, spv::DecorationBufferBlock});
        put(made_.annotations, spv::OpMemberDecorate, {block, 0, spv::DecorationOffset, 0});
        decorate({table_, spv::DecorationDescriptorSet, 0});
        decorate({table_, spv::DecorationBinding, table_binding_});
        decorate({table_, spv::DecorationAliased});
    }

    void write_preamble() {
        Words &to = made_.preamble;
        for (const uint32_t capability : capabilities_) put(to, spv::OpCapability, {capability});
        for (const std::string &name : extensions_) put(to, spv::OpExtension, words_of(name));
        for (const auto &[name, import] : imports_) {
            Words operands{import};
            const Words text = words_of(name);
            operands.insert(operands.end(), text.begin(), text.end());
            put(to, spv::OpExtInstImport, operands);
        }
        put(to, spv::OpMemoryModel, {spv::AddressingModelLogical, spv::MemoryModelGLSL450});
        Words entry{spv::ExecutionModelGLCompute, main_};
        const Words text = words_of("main");
        entry.insert(entry.end(), text.begin(), text.end());
        entry.insert(entry.end(), {workgroup_, local_});
        put(to, spv::OpEntryPoint, entry);
        put(to, spv::OpExecutionMode, {main_, spv::ExecutionModeLocalSize, threads_, 1, 1});
        for (const Piece &piece : pieces_)
            for (const auto &[of, name] : piece.module.names)
                if (piece.module.buffers.contains(of)) {
                    Words operands{of};
                    const Words letters = words_of(name);
                    operands.insert(operands.end(), letters.begin(), letters.end());
                    put(to, spv::OpName, operands);
                }
    }

    // ---- code ----
    void barrier() { code(spv::OpControlBarrier, {scope_, scope_, semantics_}); }

    void write(Piece &piece) {
        const bool reuses = shared_in_use_ && !piece.shared.empty();
        if (piece.part.waits || reuses) {
            barrier();
            shared_in_use_ = false;
        }
        shared_in_use_ |= !piece.shared.empty();
        find_offsets(piece);
        const uint32_t own = threads_of(piece.module), count = count_of(piece.part.grid);
        const bool one = threads_ == own;
        const uint32_t slot = one ? zero_ : divide(thread_, own), within = one ? thread_ : modulo(thread_, own);
        piece.thread = triple(within, piece.module.local);
        piece.slot = slot;
        const uint32_t turns = (count + piece.side_by_side - 1) / piece.side_by_side;
        if (piece.waits_within && turns > 1) return write_turns(piece, count, turns);
        if (turns > 1) return write_loop(piece, count);
        const uint32_t end = id();
        if (piece.waits_within) write_turn(piece, slot, count, end);
        else if (own * count == threads_) write_body(piece, slot, end);
        else write_guarded(piece, count, end);
        code(spv::OpLabel, {end});
    }

    // Where the part's buffers begin, in elements.
    void find_offsets(Piece &piece) {
        for (const auto &[variable, buffer] : piece.module.buffers) {
            const uint32_t at = value(spv::OpIAdd, uint_, {row_, constant(buffer_of(piece, buffer).word)});
            if (piece.part.scalars == buffer.binding) {
                piece.offsets[variable] = at;
                continue;
            }
            expect(buffer.stride == 4 || buffer.stride == 8 || buffer.stride == 16,
                   "a buffer whose elements have neither 4 nor 8 nor 16 bytes");
            const uint32_t address = value(spv::OpAccessChain, word_pointer_, {table_, zero_, at});
            uint32_t offset = value(spv::OpLoad, uint_, {address});
            if (buffer.stride > 4)
                offset = value(spv::OpShiftRightLogical, uint_, {offset, constant(buffer.stride == 8 ? 1 : 2)});
            piece.offsets[variable] = offset;
        }
    }

    uint32_t divide(uint32_t a, uint32_t b) {
        if (std::has_single_bit(b))
            return value(spv::OpShiftRightLogical, uint_, {a, constant(uint32_t(std::countr_zero(b)))});
        return value(spv::OpUDiv, uint_, {a, constant(b)});
    }
    uint32_t modulo(uint32_t a, uint32_t b) {
        if (std::has_single_bit(b)) return value(spv::OpBitwiseAnd, uint_, {a, constant(b - 1)});
        return value(spv::OpUMod, uint_, {a, constant(b)});
    }
    // The coordinates of number `a` in a box.
    uint32_t triple(uint32_t a, const std::array<uint32_t, 3> &box) {
        const auto rest = [&](uint32_t of, uint32_t extent) { return extent == 1 ? zero_ : modulo(of, extent); };
        if (box[1] == 1 && box[2] == 1)
            return value(spv::OpCompositeConstruct, triple_, {box[0] == 1 ? zero_ : a, zero_, zero_});
        const uint32_t rows = box[0] == 1 ? a : divide(a, box[0]),
                       planes = box[2] == 1 ? zero_ : (box[1] == 1 ? rows : divide(rows, box[1]));
        return value(spv::OpCompositeConstruct, triple_,
                     {rest(a, box[0]), box[2] == 1 ? rows : rest(rows, box[1]), planes});
    }

    // Threads without a workgroup leave it out.
    void write_guarded(Piece &piece, uint32_t count, uint32_t end) {
        const uint32_t begin = id(), exists = value(spv::OpULessThan, bool_, {piece.slot, constant(count)});
        code(spv::OpSelectionMerge, {end, spv::SelectionControlMaskNone});
        code(spv::OpBranchConditional, {exists, begin, end});
        code(spv::OpLabel, {begin});
        write_body(piece, piece.slot, end);
    }

    // for (group = slot; group < count; group += side by side)
    void write_loop(Piece &piece, uint32_t count) {
        const uint32_t step = piece.side_by_side;
        uint32_t first = piece.slot;
        if (threads_ % threads_of(piece.module)) { // those behind the last whole workgroup have none
            const uint32_t has_one = value(spv::OpULessThan, bool_, {first, constant(step)});
            first = value(spv::OpSelect, uint_, {has_one, first, constant(count)});
        }
        loop(first, count, step, [&](uint32_t group, uint32_t next) { write_body(piece, group, next); });
    }

    // The same number of turns in all threads, for its barriers.
    void write_turns(Piece &piece, uint32_t count, uint32_t turns) {
        loop(zero_, turns, 1, [&](uint32_t turn, uint32_t next) {
            const uint32_t before = value(spv::OpIMul, uint_, {turn, constant(piece.side_by_side)}),
                           group = value(spv::OpIAdd, uint_, {before, piece.slot}), end = id();
            write_turn(piece, group, count, end);
            code(spv::OpLabel, {end});
            barrier(); // its shared memory is free again
            code(spv::OpBranch, {next});
        });
    }

    // A thread without a workgroup computes the last one again and stores nothing.
    void write_turn(Piece &piece, uint32_t group, uint32_t count, uint32_t end) {
        uint32_t own = group;
        if (piece.guarded) {
            piece.exists = value(spv::OpULessThan, bool_, {group, constant(count)});
            if (threads_ % threads_of(piece.module)) {
                const uint32_t whole = value(spv::OpULessThan, bool_, {piece.slot, constant(piece.side_by_side)});
                piece.exists = value(spv::OpLogicalAnd, bool_, {whole, piece.exists});
            }
            own = value(spv::OpSelect, uint_, {piece.exists, group, constant(count - 1)});
        }
        write_body(piece, own, end);
    }

    template <class Body> void loop(uint32_t first, uint32_t end_at, uint32_t step, const Body &body) {
        const uint32_t counter = id(), head = id(), test = id(), begin = id(), next = id(), end = id();
        put(variables_, spv::OpVariable, {counter_pointer_, counter, spv::StorageClassFunction});
        code(spv::OpStore, {counter, first});
        code(spv::OpBranch, {head});
        code(spv::OpLabel, {head});
        code(spv::OpLoopMerge, {end, next, spv::LoopControlDontUnrollMask});
        code(spv::OpBranch, {test});
        code(spv::OpLabel, {test});
        const uint32_t now = value(spv::OpLoad, uint_, {counter}),
                       goes = value(spv::OpULessThan, bool_, {now, constant(end_at)});
        code(spv::OpBranchConditional, {goes, begin, end});
        code(spv::OpLabel, {begin});
        body(now, next);
        code(spv::OpLabel, {next});
        const uint32_t was = value(spv::OpLoad, uint_, {counter}),
                       will = value(spv::OpIAdd, uint_, {was, constant(step)});
        code(spv::OpStore, {counter, will});
        code(spv::OpBranch, {head});
        code(spv::OpLabel, {end});
    }

    // The function of the part for one of its workgroups. It ends with a branch to `end`.
    void write_body(Piece &piece, uint32_t group, uint32_t end) {
        piece.group = triple(group, piece.part.grid);
        bool begun = false;
        size_t returns = 0;
        each_instruction(piece.module.functions, [&](spv::Op op, Operands o) {
            if (op == spv::OpFunction || op == spv::OpFunctionEnd) return;
            expect(op != spv::OpPhi && op != spv::OpFunctionCall && op != spv::OpFunctionParameter,
                   "code of another form");
            if (op == spv::OpLabel && !begun) code(spv::OpBranch, {o[0]});
            begun = true;
            if (op == spv::OpVariable) {
                expect(o.size() == 3, "a variable with a first value");
                return put(variables_, op, o);
            }
            if (op != spv::OpReturn) return rewrite(piece, op, o);
            code(spv::OpBranch, {end});
            ++returns;
        });
        expect(returns == 1, "several ends");
    }

    void rewrite(Piece &piece, spv::Op op, Operands o) {
        if (op == spv::OpLoad)
            if (const auto found = piece.module.built_ins.find(o[2]); found != piece.module.built_ins.end())
                return load_input(piece, o, found->second);
        if (op == spv::OpAccessChain || op == spv::OpInBoundsAccessChain) return move_access(piece, op, o);
        if (op == spv::OpStore && piece.exists && piece.elements.contains(o[0])) return store(piece, o);
        const bool whole = (op == spv::OpLoad || op == spv::OpCopyObject) && piece.module.buffers.contains(o[2]);
        expect(!whole, "an access to a whole buffer");
        put(body_, op, o);
    }

    void load_input(const Piece &piece, Operands o, uint32_t built_in) {
        expect(o[0] == triple_ && (built_in == spv::BuiltInWorkgroupId || built_in == spv::BuiltInLocalInvocationId),
               "it knows threads or workgroups by another name");
        code(spv::OpCopyObject, {o[0], o[1], built_in == spv::BuiltInWorkgroupId ? piece.group : piece.thread});
    }

    void move_access(Piece &piece, spv::Op op, Operands o) {
        Words operands(o.begin(), o.end());
        uint32_t offset = 0;
        if (const auto found = piece.offsets.find(o[2]); found != piece.offsets.end()) {
            expect(o.size() == 5, "an access to something else than an element of a buffer");
            offset = found->second;
            piece.elements.insert(o[1]);
        } else if (const auto shared = piece.shared.find(o[2]); shared != piece.shared.end()) {
            expect(o.size() == 4, "an access to something else than an element of shared memory");
            operands[2] = shared->second.variable;
            offset = offset_of(piece, shared->second);
        }
        if (offset == 0) return put(body_, op, operands);
        operands.back() = value(spv::OpIAdd, uint_, {operands.back(), offset});
        put(body_, op, operands);
    }

    // 0: none.
    uint32_t offset_of(const Piece &piece, const Shared &shared) {
        if (piece.slots == 1) return shared.first ? constant(shared.first) : 0;
        const uint32_t before = value(spv::OpIMul, uint_, {piece.slot, constant(shared.length)});
        return shared.first ? value(spv::OpIAdd, uint_, {before, constant(shared.first)}) : before;
    }

    void store(const Piece &piece, Operands o) {
        const uint32_t yes = id(), end = id();
        code(spv::OpSelectionMerge, {end, spv::SelectionControlMaskNone});
        code(spv::OpBranchConditional, {piece.exists, yes, end});
        code(spv::OpLabel, {yes});
        put(body_, spv::OpStore, o);
        code(spv::OpBranch, {end});
        code(spv::OpLabel, {end});
    }

    const uint32_t threads_, table_binding_, row_words_;
    Module made_;
    std::vector<Piece> pieces_;
    std::set<uint32_t> capabilities_, declared_;
    std::set<std::string> extensions_;
    std::map<std::string, uint32_t> imports_;
    std::map<Words, uint32_t> types_;
    std::map<uint32_t, uint32_t> constants_;
    struct Pool {
        uint32_t variable = 0, length = 0;
    };
    std::map<uint32_t, Pool> pools_;      // of shared memory, by type of elements
    std::map<uint32_t, uint32_t> bytes_; // of types
    uint32_t shared_bytes_ = 0;
    bool shared_in_use_ = false; // since the last barrier
    uint32_t uint_ = 0, bool_ = 0, void_ = 0, triple_ = 0, signature_ = 0, main_ = 0, counter_pointer_ = 0;
    uint32_t word_pointer_ = 0, workgroup_ = 0, local_ = 0, table_ = 0;
    uint32_t zero_ = 0, scope_ = 0, semantics_ = 0, thread_ = 0, row_ = 0;
    Words variables_, body_;
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
