#include "tests/bench/gpu_compilers/simulate.h"
#include "tests/bench/gpu_compilers/lanes.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace longwave::bench {

using spirv::Module, spirv::Operands, spirv::Words;

namespace {

float real(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }
int32_t whole(uint32_t word) { return static_cast<int32_t>(word); }
uint32_t word(int64_t value) { return static_cast<uint32_t>(value); }
uint32_t word_of_float(float value) {
    return std::isfinite(value) && std::fabs(value) < 0x1p31f ? word(static_cast<int32_t>(value)) : 0;
}

class Workgroup {
public:
    Workgroup(const Module &module, uint64_t limit) : code_(module), limit_(limit), lanes_(code_) {}

    Simulation run() {
        const std::vector<Block> &blocks = code_.blocks();
        while (const auto next = lanes_.next_block()) {
            for (const Instruction &one : blocks[*next]) {
                if (++steps_ > limit_) {
                    made_.complete = false;
                    return made_;
                }
                execute(one.op, one.operands);
            }
        }
        return made_;
    }

private:
    // ---- control ----
    void execute(spv::Op op, Operands o) {
        switch (op) {
        case spv::OpSelectionMerge:
        case spv::OpLoopMerge:
        case spv::OpMemoryBarrier:
        case spv::OpVariable:
        case spv::OpUndef: return;
        case spv::OpControlBarrier: made_.barriers++; return;
        case spv::OpReturn: lanes_.end(); return;
        case spv::OpBranch: lanes_.go(code_.block_of(o[0])); return;
        case spv::OpBranchConditional:
            count("branch");
            lanes_.go(code_.block_of(o[1]), code_.block_of(o[2]), lanes_.value(o[0]));
            return;
        case spv::OpAccessChain:
        case spv::OpInBoundsAccessChain: return point(o);
        case spv::OpLoad: return load(o);
        case spv::OpStore: return store(o);
        case spv::OpAtomicOr: // nobody reads what was there before
            request("store ", code_.pointer(o[2]), lanes_.value(o[2]));
            return lanes_.set(o[1], 1, [](uint32_t) { return 0u; });
        default: compute(op, o);
        }
    }
    void count(const char *kind) { made_.instructions[kind] += lanes_.warps().size(); }

    // ---- memory ----
    void point(Operands o) {
        const uint32_t *index = lanes_.value(o.back());
        lanes_.set(o[1], 1, [&](uint32_t lane) { return index[lane]; });
    }

    void load(Operands o) {
        const uint32_t width = code_.width(o[0]);
        const Pointer p = code_.pointer(o[2]);
        if (p.place == Place::input) return load_input(o, width, p);
        if (p.place == Place::own) {
            count("private");
            const std::vector<uint32_t> &memory = lanes_.own(p.variable);
            const uint32_t *index = p.indexed ? lanes_.value(o[2]) : nullptr;
            lanes_.set(o[1], 1, [&](uint32_t lane) { return memory[lanes_.own_at(index, memory, lane)]; });
            return;
        }
        request("load ", p, lanes_.value(o[2]));
        lanes_.set(o[1], width, [](uint32_t) { return 0u; });
    }

    void load_input(Operands o, uint32_t width, const Pointer &p) {
        const std::array<uint32_t, 3> size = code_.local();
        const bool thread = p.built_in == spv::BuiltInLocalInvocationId;
        lanes_.set(o[1], width, [&](uint32_t at) {
            const uint32_t lane = at % lanes_.count(), part = at / lanes_.count();
            const uint32_t ids[] = {lane % size[0], lane / size[0] % size[1], lane / (size[0] * size[1])};
            return thread ? ids[part] : 0u;
        });
    }

    void store(Operands o) {
        const Pointer p = code_.pointer(o[0]);
        const uint32_t *value = lanes_.value(o[1]);
        if (p.place != Place::own) return request("store ", p, lanes_.value(o[0]));
        count("private");
        std::vector<uint32_t> &memory = lanes_.own(p.variable);
        const uint32_t *index = p.indexed ? lanes_.value(o[0]) : nullptr;
        lanes_.each([&](uint32_t lane) { memory[lanes_.own_at(index, memory, lane)] = value[lane]; });
    }

    void request(const char *direction, const Pointer &p, const uint32_t *index) {
        const bool shared = p.place == Place::shared;
        BufferRequests *buffer = shared ? nullptr : &made_.buffers[direction + code_.name(p.variable)];
        if (buffer) buffer->element_bytes = p.element_bytes;
        count(shared ? "shared" : "global");
        for (const auto &[first, last] : lanes_.warps()) {
            std::array<uint64_t, warp_lanes> at{};
            size_t n = 0;
            for (const uint32_t *lane = first; lane != last; lane++)
                at[n++] = uint64_t{index[*lane]} * p.element_bytes;
            if (shared) ask_banks(at, n, p.element_bytes);
            else ask_sectors(*buffer, at, n);
        }
    }

    void ask_sectors(BufferRequests &buffer, std::array<uint64_t, warp_lanes> &at, size_t n) {
        constexpr uint64_t sector = 32;
        buffer.requests++, buffer.elements += n;
        for (size_t i = 0; i < n; i++) at[i] /= sector;
        std::sort(at.begin(), at.begin() + n);
        buffer.sectors += static_cast<uint64_t>(std::unique(at.begin(), at.begin() + n) - at.begin());
    }

    // A word that several lanes ask for is delivered to all of them at once. An element of 16 bytes
    // takes four wavefronts of a quarter of the lanes each.
    void ask_banks(std::array<uint64_t, warp_lanes> &at, size_t n, uint32_t bytes) {
        constexpr uint64_t banks = 32;
        const size_t words = std::max<size_t>(bytes / 4, 1), lanes = std::max<size_t>(warp_lanes / words, 1);
        made_.shared_requests++;
        for (size_t from = 0; from < n; from += lanes) {
            std::vector<uint64_t> asked;
            for (size_t i = from; i < std::min(n, from + lanes); i++)
                for (size_t w = 0; w < words; w++) asked.push_back(at[i] / 4 + w);
            std::sort(asked.begin(), asked.end());
            asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
            std::array<uint64_t, banks> load{};
            for (const uint64_t one : asked) load[one % banks]++;
            made_.shared_wavefronts += *std::max_element(load.begin(), load.end());
            made_.shared_ideal += std::max<uint64_t>(1, (asked.size() + banks - 1) / banks);
        }
    }

    // ---- arithmetic ----
    template <class F> void unary(Operands o, const char *kind, const F &f) {
        if (kind) count(kind);
        const uint32_t *a = lanes_.value(o[2]);
        lanes_.set(o[1], code_.width(o[0]), [&](uint32_t at) { return f(a[at]); });
    }
    template <class F> void binary(Operands o, const char *kind, const F &f, size_t first = 2) {
        count(kind);
        const uint32_t *a = lanes_.value(o[first]), *b = lanes_.value(o[first + 1]);
        lanes_.set(o[1], code_.width(o[0]), [&](uint32_t at) { return f(a[at], b[at]); });
    }

    void compute(spv::Op op, Operands o) {
        const char *integer = "integer", *floating = "float";
        switch (op) {
#define INTEGER(name, value)                                                                                 \
    case spv::name: return binary(o, integer, [](uint32_t a, uint32_t b) -> uint32_t { return value; })
#define FLOATING(name, value)                                                                                \
    case spv::name: return binary(o, floating, [](uint32_t a, uint32_t b) -> uint32_t { return value; })
            INTEGER(OpIAdd, a + b);
            INTEGER(OpISub, a - b);
            INTEGER(OpIMul, a * b);
            INTEGER(OpSDiv, b ? word(int64_t{whole(a)} / whole(b)) : 0);
            INTEGER(OpUDiv, b ? a / b : 0);
            INTEGER(OpSRem, b ? word(int64_t{whole(a)} % whole(b)) : 0);
            INTEGER(OpSMod, b ? word((int64_t{whole(a)} % whole(b) + whole(b)) % whole(b)) : 0);
            INTEGER(OpUMod, b ? a % b : 0);
            INTEGER(OpBitwiseAnd, a & b);
            INTEGER(OpBitwiseOr, a | b);
            INTEGER(OpBitwiseXor, a ^ b);
            INTEGER(OpLogicalAnd, a & b);
            INTEGER(OpLogicalOr, a | b);
            INTEGER(OpShiftLeftLogical, b < 32 ? a << b : 0);
            INTEGER(OpShiftRightLogical, b < 32 ? a >> b : 0);
            INTEGER(OpShiftRightArithmetic, word(whole(a) >> std::min(b, 31u)));
            INTEGER(OpIEqual, a == b);
            INTEGER(OpINotEqual, a != b);
            INTEGER(OpLogicalEqual, a == b);
            INTEGER(OpLogicalNotEqual, a != b);
            INTEGER(OpSLessThan, whole(a) < whole(b));
            INTEGER(OpSLessThanEqual, whole(a) <= whole(b));
            INTEGER(OpSGreaterThan, whole(a) > whole(b));
            INTEGER(OpSGreaterThanEqual, whole(a) >= whole(b));
            INTEGER(OpULessThan, a < b);
            INTEGER(OpULessThanEqual, a <= b);
            INTEGER(OpUGreaterThan, a > b);
            INTEGER(OpUGreaterThanEqual, a >= b);
            FLOATING(OpFAdd, bits(real(a) + real(b)));
            FLOATING(OpFSub, bits(real(a) - real(b)));
            FLOATING(OpFMul, bits(real(a) * real(b)));
            FLOATING(OpFDiv, bits(real(b) == 0 ? 0 : real(a) / real(b)));
            FLOATING(OpFOrdEqual, real(a) == real(b));
            FLOATING(OpFOrdNotEqual, real(a) != real(b));
            FLOATING(OpFUnordNotEqual, real(a) != real(b));
            FLOATING(OpFOrdLessThan, real(a) < real(b));
            FLOATING(OpFUnordLessThan, !(real(a) >= real(b)));
            FLOATING(OpFOrdLessThanEqual, real(a) <= real(b));
            FLOATING(OpFOrdGreaterThan, real(a) > real(b));
            FLOATING(OpFUnordGreaterThan, !(real(a) <= real(b)));
            FLOATING(OpFOrdGreaterThanEqual, real(a) >= real(b));
#undef INTEGER
#undef FLOATING
        case spv::OpLogicalNot: return unary(o, integer, [](uint32_t a) { return uint32_t{!a}; });
        case spv::OpSNegate: return unary(o, integer, [](uint32_t a) { return 0 - a; });
        case spv::OpNot: return unary(o, integer, [](uint32_t a) { return ~a; });
        case spv::OpFNegate: return unary(o, floating, [](uint32_t a) { return bits(-real(a)); });
        case spv::OpBitcast:
        case spv::OpCopyObject: return unary(o, nullptr, [](uint32_t a) { return a; });
        case spv::OpConvertSToF:
            return unary(o, "convert", [](uint32_t a) { return bits(static_cast<float>(whole(a))); });
        case spv::OpConvertUToF:
            return unary(o, "convert", [](uint32_t a) { return bits(static_cast<float>(a)); });
        case spv::OpConvertFToS:
        case spv::OpConvertFToU:
            return unary(o, "convert", [](uint32_t a) { return word_of_float(real(a)); });
        case spv::OpFConvert: // to and from float16 and float64: what they hold are zeros
        case spv::OpUConvert:
        case spv::OpSConvert: return unary(o, "convert", [](uint32_t a) { return a; });
        case spv::OpSelect: {
            count(integer);
            const uint32_t *c = lanes_.value(o[2]), *a = lanes_.value(o[3]), *b = lanes_.value(o[4]);
            return lanes_.set(o[1], code_.width(o[0]), [&](uint32_t at) { return c[at] ? a[at] : b[at]; });
        }
        case spv::OpExtInst: return extended(o);
        default: compose(op, o);
        }
    }

    // GLSL.std.450: o[3] is the function, its arguments follow.
    void extended(Operands o) {
        const char *integer = "integer", *floating = "float";
        switch (o[3]) {
        case GLSLstd450FMin:
            return binary(
                o, floating, [](uint32_t a, uint32_t b) { return bits(std::fmin(real(a), real(b))); }, 4);
        case GLSLstd450FMax:
            return binary(
                o, floating, [](uint32_t a, uint32_t b) { return bits(std::fmax(real(a), real(b))); }, 4);
        case GLSLstd450SMin:
            return binary(
                o, integer, [](uint32_t a, uint32_t b) { return word(std::min(whole(a), whole(b))); }, 4);
        case GLSLstd450SMax:
            return binary(
                o, integer, [](uint32_t a, uint32_t b) { return word(std::max(whole(a), whole(b))); }, 4);
        case GLSLstd450UMin:
            return binary(o, integer, [](uint32_t a, uint32_t b) { return std::min(a, b); }, 4);
        case GLSLstd450UMax:
            return binary(o, integer, [](uint32_t a, uint32_t b) { return std::max(a, b); }, 4);
        case GLSLstd450Fma: count(floating); break;
        default: count("special");
        }
        lanes_.set(o[1], code_.width(o[0]), [](uint32_t) { return 0u; });
    }

    void compose(spv::Op op, Operands o) {
        const uint32_t n = lanes_.count();
        if (op == spv::OpCompositeExtract) {
            const uint32_t *a = lanes_.value(o[2]) + o[3] * n;
            return lanes_.set(o[1], 1, [&](uint32_t lane) { return a[lane]; });
        }
        if (op == spv::OpCompositeInsert) {
            const uint32_t *part = lanes_.value(o[2]), *a = lanes_.value(o[3]);
            return lanes_.set(o[1], code_.width(o[0]),
                              [&](uint32_t at) { return at / n == o[4] ? part[at % n] : a[at]; });
        }
        if (op == spv::OpAny) {
            const uint32_t *a = lanes_.value(o[2]); // modules ask it of four only
            return lanes_.set(o[1], 1, [&](uint32_t lane) {
                return a[lane] | a[n + lane] | a[2 * n + lane] | a[3 * n + lane];
            });
        }
        spirv::expect(op == spv::OpCompositeConstruct, "an instruction that the simulation does not know");
        std::vector<const uint32_t *> parts;
        for (const uint32_t id : o.subspan(2)) parts.push_back(lanes_.value(id));
        lanes_.set(o[1], code_.width(o[0]), [&](uint32_t at) { return parts[at / n][at % n]; });
    }

    const Code code_;
    const uint64_t limit_;
    Lanes lanes_;
    Simulation made_;
    uint64_t steps_ = 0;
};

} // namespace

Simulation simulate(const Module &module, uint64_t limit) { return Workgroup(module, limit).run(); }

} // namespace longwave::bench
