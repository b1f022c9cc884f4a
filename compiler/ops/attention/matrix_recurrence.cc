// matrix_recurrence: o_t = q_t·S_t with S_t = diag(w_t) S_{t−1} + b_t (a_tᵀ S_{t−1}) + k_t v_tᵀ, a matrix of
// dk × dv per head. The decay w is a number for each head (Mamba-2, Gated DeltaNet) or for each key (GLA,
// RWKV-7, Kimi), and the rank-one term may be left out. Heads may share queries, keys and b.
//
// A delta rule S = w S + β k (v − (w S)ᵀ k)ᵀ has a = −β w k, b = k and values β v.
#include "compiler/ops/attention/attention.h"
#include "compiler/ops/attention/matrix_state.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/attention.h"

namespace longwave::ir {
namespace {

enum Input : size_t { queries, keys, values, others };

bool decays(const Node &node) { return node.text("decay") != "none"; }
bool rank_one(const Node &node) { return node.integer("rank_one") != 0; }
size_t place_of_a(const Node &node) { return decays(node) ? others + 1 : others; }

MatrixState state(const Node &node, std::span<const Type> in) {
    const uint32_t heads = attention::heads_of(node),
                   key_heads = static_cast<uint32_t>(node.integer("key_heads"));
    return {.heads = heads,
            .key_heads = key_heads,
            .keys = in[keys].dims[0] / key_heads,
            .values = in[values].dims[0] / heads,
            .high = "S",
            .low = nullptr};
}

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(const uint32_t heads, rules::integer(node, "heads", 1, 1 << 12));
    LW_ASSIGN(const uint32_t key_heads, rules::integer(node, "key_heads", 1, 1 << 12));
    LW_TRY(rules::flag(node, "rank_one").status());
    const std::string &decay = node.text("decay");
    if (decay != "none" && decay != "head" && decay != "key")
        return Status::input(fmt::format("attribute decay expected none, head or key, found '{}'", decay));
    if (!decays(node) && !rank_one(node))
        return Status::input(
            "a sum without decay and rank-one term is linear_attention, which keeps it in two "
            "floats: use that op");
    if (heads % key_heads)
        return Status::input(
            fmt::format("attribute key_heads expected a divisor of {} heads, found {}", heads, key_heads));
    LW_TRY(rules::count(in, place_of_a(node) + (rank_one(node) ? 2 : 0)));
    LW_ASSIGN(const Type type, attention::rows_of_one_rate(in, in[values]));
    const auto divides = [](const Type &of, uint32_t count, const char *what) {
        if (of.dims[0] % count == 0) return Status::ok();
        return Status::input(
            fmt::format("{} of {} features do not divide into {} heads", what, of.dims[0], count));
    };
    LW_TRY(divides(in[keys], key_heads, "keys"));
    LW_TRY(divides(in[values], heads, "values"));
    const uint32_t of_key_heads = in[keys].dims[0], of_heads = of_key_heads / key_heads * heads;
    const auto wide = [&](size_t input, uint32_t width, const char *what) {
        if (in[input].dims[0] == width) return Status::ok();
        return Status::input(
            fmt::format("{} of width {} expected, found {}", what, width, in[input].dims[0]));
    };
    LW_TRY(wide(queries, of_key_heads, "queries"));
    if (decays(node)) LW_TRY(wide(others, decay == "head" ? heads : of_heads, "decays"));
    if (!rank_one(node)) return type;
    LW_TRY(wide(place_of_a(node), of_heads, "a"));
    LW_TRY(wide(place_of_a(node) + 1, of_key_heads, "b"));
    return type;
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const MatrixState s = state(node, context.types);
    const auto more = rank_one(node) ? in.subspan(place_of_a(node), 2) : in.subspan(in.size());
    const auto compute = [&](const auto &kept) {
        recurrence(s, *in[queries], *in[keys], *in[values], kept, out, more);
    };
    if (!decays(node)) return compute([](size_t, size_t, size_t) { return 1.0; });
    const OfHeads w(*in[others], s.heads);
    const bool each = node.text("decay") == "key";
    compute([&](size_t t, size_t h, size_t i) { return w(t, h)[each ? i : 0]; });
}

// K: the contract of a step or of a chunk.
template <class K> void attend(KernelCall &call, const MatrixState &s, uint32_t rows, const K &params) {
    const bool more = rank_one(call.node);
    const size_t a = place_of_a(call.node);
    const auto given = [&](bool there, size_t input) {
        return there ? Given::Input(call.rows_of(input)) : Given::Input();
    };
    Given::Output read;
    if (more) { // calls write what no other call writes
        const std::vector<uint32_t> dims{rows, schedules::pad(s.heads * s.values)};
        Place place = call.memory("read", Elem::f32, {(call.all_rows() + rows - 1) / rows * rows, dims[1]},
                                  KernelCall::Life::call);
        place.tile_bytes = compiler::bytes_of(Elem::f32, dims);
        read = place;
    }
    call.kernel<K>(params, {.q = call.rows_of(queries),
                            .k = call.rows_of(keys),
                            .v = call.rows_of(values),
                            .w = given(decays(call.node), others),
                            .a = given(more, a),
                            .b = given(more, a + 1),
                            .S = call.state("S"),
                            .read = read,
                            .o = call.result_rows()});
}

constexpr MatrixOp matrix{
    .state = state,
    .pass = 0.1, // estimates from the old ops, which move two floats: nobody has measured these
    .of_chunk = 0.06,
    .one_row =
        [](KernelCall &call, const MatrixState &s) {
            attend(call, s, 1,
                   contract::MatrixRecurrenceStep{.heads = s.heads,
                                                  .key_heads = s.key_heads,
                                                  .dk = s.keys,
                                                  .dv = s.values,
                                                  .decay = call.node.text("decay"),
                                                  .rank_one = call.node.integer("rank_one")});
        },
    .several_rows =
        [](KernelCall &call, const MatrixState &s, uint32_t rows) {
            attend(call, s, rows,
                   contract::MatrixRecurrenceChunk{.heads = s.heads,
                                                   .key_heads = s.key_heads,
                                                   .dk = s.keys,
                                                   .dv = s.values,
                                                   .rows = rows,
                                                   .decay = call.node.text("decay"),
                                                   .rank_one = call.node.integer("rank_one")});
        }};
using Forms = MatrixForms<matrix>;
const Algorithm *const algorithms[] = {&Forms::step, &Forms::chunk};

} // namespace

const OpDef op_matrix_recurrence{
    .name = "matrix_recurrence",
    .attributes = {{"heads", AttributeDef::Kind::integer},
                   {"key_heads", AttributeDef::Kind::integer},
                   {"decay", AttributeDef::Kind::text},
                   {"rank_one", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = Forms::stream,
    .no_epilogue = true,
    .algorithms = algorithms,
    .reference = reference,
};

} // namespace longwave::ir
