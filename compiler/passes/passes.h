// The passes, in the order of a compile (driver/graphs.cc): what each one does, why here, what it needs, what
// it keeps and how it can fail. Each has a file of its name. The verifier runs after each.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include "schedules/contract/weight_formats.h"
#include <set>
#include <string>
#include <vector>

namespace longwave::compiler {

// Computes every node whose inputs are all constants, by its reference loop in float64.
// Why here: it runs first, so that later passes see weights instead of sums of weights.
// Needs: a verified graph. Keeps: kernels whose form materialise_kernels decides, and kernels that
// are prepared when the model is opened: the artifact stores their parameters. Fails: never.
Expected<ir::Graph> fold_constants(const ir::Graph &graph);

// Turns the parameters of kernels into what a convolution needs. The op that makes the kernel
// decides the form: taps in float64, or fewer numbers that are expanded when the model is opened.
// Why here: constants are folded, and merge_branches needs taps. The artifact stores the shorter
// form.
// Needs: constant parameters. Keeps: everything else. Fails: Fault::input as the op says, with the
// layer.
Expected<ir::Graph> materialise_kernels(const ir::Graph &graph);

// Writes a long convolution that mixes channels as one filter per pair of an input and an output,
// and a sum: a room with two sources and two microphones has four. The planner computes long
// filters with transforms, and a mixing convolution tap by tap.
// Why here: constants are folded, and merge_branches finds the filters. Needs: a verified graph.
// Keeps: convolutions of few taps or of many channels (Rewrites::separate decides). Each rewrite has
// a certificate. Fails: Fault::internal, when a certificate fails.
Expected<ir::Graph> separate_channels(const ir::Graph &graph);

// Merges parallel branches on one value (structural re-parameterisation, Ding et al. 2021). A
// branch is a filter per channel: causal or two-sided, with one copy per channel or several. Norms
// after the filters, identities and scaled identities join it. The result is one filter, written as
// the op that all branches were, or as the op that can express any filter. D becomes part of tap 0.
// Why here: kernels are taps. Norms are not folded yet, because a norm after a convolution belongs
// to its branch.
// Needs: constant taps. One branch may have taps that are prepared when the model is opened: the
// other branches join it as a short kernel, and a norm scales the parameters of the prepared taps.
// Keeps: whatever is not exact. A norm before a convolution stays, because its shift would meet the
// zeros before the start. Prepared taps stay apart from filters that are longer or reach further.
// Fails: Fault::internal when a re-run on numbers does not confirm a merge. Each merge adds a
// certificate.
Expected<ir::Graph> merge_branches(const ir::Graph &graph);

// Merges a short filter per channel and the filter after it into one (serial re-parameterisation):
// g, then k becomes g*k with K + r - 1 taps.
// Why here: each set of branches is one filter now, and norms are folded, so a remaining bias is a
// real one.
// Needs: constant taps of both filters, one of them short; no other reader of the value between
// them.
// Keeps: whatever is not exact. A filter that reads rows ahead stays, because the signal between
// the two is cut at the ends of the sequence. A bias in the first filter stays, because it meets
// the zeros before the start.
// Fails: Fault::internal when a re-run on numbers does not confirm a merge. Each merge adds a
// certificate.
Expected<ir::Graph> merge_chains(const ir::Graph &graph);

// Folds norms with fixed statistics. Such a norm is a scale and a shift per channel. The pass moves
// them into the weight and bias of the op before it, if that op is linear in its weights. It also
// moves them into the op after it, if that op reads no zeros around the signal. A norm that remains
// takes its simplest form.
// Why here: branches have merged, because a norm after a short convolution belongs to its branch.
// What remains is at most one multiply-add.
// Needs: constant parameters and weights; no other reader of the value between the two.
// Keeps: a norm before a convolution. Its shift meets the zeros around the signal, so folding it
// would be wrong at the edges.
// Fails: Fault::input for a variance without a square root; Fault::internal when a re-run on
// numbers does not confirm a fold. Each fold adds a certificate.
Expected<ir::Graph> fold_norms(const ir::Graph &graph);

// Merges a matrix multiplication and the one after it into one: W x + b, then V y + c, becomes
// (V W) x + (V b + c). A constant inverse transform before a layer is such a pair.
// Why here: norms are folded, so nothing is left between two matrices that belong together.
// Needs: constant matrices of float32 that no other node uses; no other reader of the value between
// them.
// Keeps: a pair whose product has as many numbers as both matrices, such as a bottleneck. Layers
// whose `weights` the model chooses.
// Fails: Fault::internal when a re-run on numbers does not confirm a merge. Each merge adds a
// certificate. The product is computed in float64, and rounded once.
Expected<ir::Graph> merge_products(const ir::Graph &graph);

// Splits an op that has no kernel of its own, because the node before it computes it, into ops that
// have one. A glu behind a convolution becomes its two halves, a sigmoid and a product.
// Why here: all matrices have found their places, so the node before it stays.
// Keeps: an op whose neighbour absorbs it (OpDef::absorb_consumer).
// Fails: never on a verified graph.
Expected<ir::Graph> split_lone(const ir::Graph &graph);

// Lets elements lie as they come between ops that take elements in another order. A spectrum that is
// transposed to [bins, frames], squared and transposed back stays as it is, so that neighbours move together.
// Why here: all other rewrites know the order of the package. Needs: values that only pointwise ops of rows
// and takes make and read. Keeps: every result, bit for bit. Values that others read, and outputs. Orders
// without longer runs. Fails: never on a verified graph.
Expected<ir::Graph> order_elements(const ir::Graph &graph);

// Gives the inputs of a matrix one range before its weights are rounded to int8 or int4. A scale holds
// for all inputs of an output, or for 32 of them. One input with large weights would leave few steps for
// the others, however large their activations are. So the weights of input i take a factor s_i, and
// what makes the input takes 1 / s_i (Nagel and others 2019, data-free quantization). Rows between both
// are those of the model, times a constant per feature.
// Why here: all folds come before, and rounding comes next.
// Needs: constant weights on both sides, which no other node uses; ops in between that keep positive
// factors, such as relu; no other reader.
// Keeps: every result, bit for bit: the factors are powers of two.
// Fails: Fault::internal when a re-run on numbers does not confirm a change. Each has a certificate.
// `format`: of the nodes that name none.
Expected<ir::Graph> balance_inputs(const ir::Graph &graph, schedules::WeightFormat format);

// The error that rounding caused in the weights of one matrix multiplication, or in taps.
struct StoredWeights {
    std::string layer;
    schedules::WeightFormat format;
    double error;   // ‖W − Ŵ‖ / ‖W‖
    double largest; // largest |W − Ŵ| / largest |W|
    bool taps = false;
};

// Rounds the weights of matrix multiplications to their storage format, and names the format on the
// node. With int8 and int4 it also states to how many steps kernels may round activations
// (`activation_steps`): as many as keep every sum inside an int32, whatever the activations are.
// Long taps become int8 with both, in groups of 32 with a scale.
// Why here: folds change weights, so they come first. From here on every reference computes with
// the numbers that kernels read, and error limits stay as tight as with float32. Needs: nothing. A
// node that names a format keeps it; other nodes get `format`. Where int4 cannot be, because a
// matrix is also a table or an op reads no groups, they get int8. An embedding takes the format of
// the multiplication that it shares its table with. Other embeddings get int8 with int8 and int4.
// Keeps: biases, norms, short filters and convolutions over several frequencies: these stay float32.
// Fails: Fault::input for a weight that the format cannot hold.
// `bytes`: kernels may round activations to int8 (`byte_activation_steps`), not int16 only.
Expected<ir::Graph> store_weights(const ir::Graph &graph, schedules::WeightFormat format, bool bytes,
                                  std::vector<StoredWeights> &stored);

// Adds an identity matrix after every output whose rows have gaps in memory: several groups of
// channels, each padded to whole vectors.
// Why here: the folds would merge the identity away. Callers get plain rows of `width` floats.
// Needs: nothing. Keeps: values, bit for bit (1·x + 0·y). Fails: never.
Expected<ir::Graph> pack_outputs(const ir::Graph &graph);

// Turns the offline graph into the graph of its stream, and tells the output rate of every value.
// Why here: convolutions are known and kernels are not chosen yet. From here on the same code plans
// streams and offline runs. Needs: primitives only. Keeps: every causal op, except ops that name a
// streamed form (OpDef::streamed). Ops that look ahead by a few rows come late; earlier branches
// wait. Fails: Fault::usage for each layer that looks ahead and cannot wait, and for each state
// that cannot begin late; Fault::usage for a block that cuts a hop, with the blocks that fit.
Expected<ir::Graph> make_streaming(const ir::Graph &graph);

// The smallest block that cuts no hop: the least common multiple of all denominators of clocks, and of
// the ticks that rows come for together.
uint32_t natural_block(const ir::Graph &graph);
// When a value of a stream has new rows: `rows` of them at each block b with b mod period = phase.
struct Pace {
    uint32_t rows = 1, period = 1, phase = 0;
};
Expected<Pace> pace_of(ir::Clock clock, uint32_t block);
// Checks the blocks of stream entries that share one state: none cuts a hop, or rows that come
// together, and each is a multiple of the smallest. There is at least one.
Status check_blocks(const ir::Graph &graph, const std::vector<uint32_t> &blocks);

struct ValueCopy {
    ir::ValueId value = 0;
    std::set<size_t> readers; // nodes that read the copy instead
    bool output = false;      // outputs of the model are the copy
};

// Puts copies of values between kernels that want their rows in different orders of memory (op
// reorder_rows).
// Why here: the plan of a run says which kernels these are (plan/channel_major.h). The graph serves
// that run alone.
// Needs: values of the graph, each once, and nodes that read them.
// Keeps: every result, and the order of the nodes.
// Fails: Fault::internal if a value has no rows.
Expected<ir::Graph> reorder_values(const ir::Graph &graph, const std::vector<ValueCopy> &copies);

} // namespace longwave::compiler
