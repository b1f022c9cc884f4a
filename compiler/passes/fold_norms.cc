#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/ops/support/compare.h"
#include "compiler/passes/passes.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace longwave::compiler {

namespace {

using ir::ChannelMap;
using ir::ValueId;

bool is_map(const ir::Node *node) { return node && node->op->rewrites.channel_map; }

class Folder {
public:
    Folder(ir::Rewriter &rewrite, const ir::Graph &old) : rewrite_(rewrite), to_(rewrite.to()), old_(old) {}

    // A channel map: into what made its input, else in its simplest form.
    Expected<ValueId> map(const ir::Node &node) {
        LW_ASSIGN(const ValueId kept, rewrite_.keep(node));
        if (!ir::constants_from(old_, node, 1)) return kept;
        LW_ASSIGN(const ChannelMap map, node.op->rewrites.channel_map(old_, node));
        LW_ASSIGN(const std::optional<ValueId> folded, into_producer(node, kept, map));
        if (folded) return *folded;
        if (node.op->pointwise != ir::Pointwise::no) return kept;
        const ValueId x = rewrite_.map(node.inputs[0]);
        LW_ASSIGN(const ValueId made, ir::make_channel_map(to_, x, map, node.layer));
        LW_TRY(confirm(node.layer, fmt::format("{} → {}", node.op->name, name_of(made)), x, kept, made,
                       shortest));
        return made;
    }

    // Maps right before an op that takes them into its weights, the nearest first.
    Expected<ValueId> behind_maps(const ir::Node &node) {
        LW_ASSIGN(ValueId made, rewrite_.keep(node));
        for (ValueId x = node.inputs[0]; old_.uses(x) == 1;) {
            const ir::Node *before = graph().producer(rewrite_.map(x));
            const ir::Node producer = *graph().producer(made); // a copy: adding nodes moves the originals
            if (!is_map(before) || !ir::constants_from(graph(), *before, 1) ||
                !ir::constants_from(graph(), producer, 1))
                break;
            LW_ASSIGN(const ChannelMap map, before->op->rewrites.channel_map(graph(), *before));
            const ValueId base = before->inputs[0];
            const std::string what =
                fmt::format("{} of {} → {}", before->op->name, before->layer, node.op->name);
            LW_ASSIGN(const std::optional<ValueId> folded,
                      node.op->rewrites.fold_input(to_, producer, base, map));
            if (!folded) break;
            LW_TRY(confirm(node.layer, what, base, made, *folded, shortest));
            made = *folded;
            const ir::Node *was = old_.producer(x);
            if (!is_map(was)) break;
            x = was->inputs[0];
        }
        return made;
    }

private:
    static constexpr size_t shortest = 8; // rows of a re-run

    const ir::Graph &graph() const { return to_.graph(); }
    const char *name_of(ValueId value) const { return graph().producer(value)->op->name; }

    Status confirm(const std::string &layer, const std::string &what, ValueId from, ValueId before,
                   ValueId after, size_t rows) {
        const auto a = ir::excerpt(graph(), from, {before}), b = ir::excerpt(graph(), from, {after});
        if (!a || !b) return a ? b.status() : a.status();
        auto certificate = ir::certify("fold_norms", layer, what, *a, *b, rows);
        if (!certificate) return certificate.status();
        to_.certificate(*std::move(certificate));
        return Status::ok();
    }

    Expected<std::optional<ValueId>> into_producer(const ir::Node &node, ValueId kept,
                                                   const ChannelMap &map) {
        const ir::Node *found = graph().producer(rewrite_.map(node.inputs[0]));
        if (!found || !found->op->rewrites.fold_result) return std::optional<ValueId>();
        if (old_.uses(node.inputs[0]) != 1 || !ir::constants_from(graph(), *found, 1))
            return std::optional<ValueId>();
        const ir::Node producer = *found; // a copy: adding nodes moves the originals
        LW_ASSIGN(const auto made, producer.op->rewrites.fold_result(to_, producer, producer.inputs[0], map));
        if (!made) return made;
        const std::string what = fmt::format("{} of {} → {}", node.op->name, node.layer, producer.op->name);
        LW_TRY(confirm(producer.layer, what, producer.inputs[0], kept, *made, rows_for(producer)));
        return made;
    }

    // Some rows beyond the oldest that a result depends on.
    size_t rows_for(const ir::Node &node) const {
        std::vector<ir::Type> types;
        for (const ValueId id : node.inputs) types.push_back(graph().type(id));
        const ir::Clock in = types[0].clock, out = graph().type(node.output).clock;
        const uint64_t stride =
            out.timeless() ? 1 : uint64_t{in.num} * out.den / (uint64_t{in.den} * out.num);
        return std::max<size_t>(shortest, node.op->stream(node, types).history + 5 * stride);
    }

    ir::Rewriter &rewrite_;
    ir::Builder &to_;
    const ir::Graph &old_;
};

} // namespace

Expected<ir::Graph> fold_norms(const ir::Graph &graph) {
    ir::Rewriter rewriter(graph);
    return rewriter.run([&](ir::Rewriter &rewrite, const ir::Node &node) -> Expected<ValueId> {
        Folder folder(rewrite, graph);
        if (is_map(&node)) return folder.map(node);
        if (node.op->rewrites.fold_input) return folder.behind_maps(node);
        return rewrite.keep(node);
    });
}

} // namespace longwave::compiler
