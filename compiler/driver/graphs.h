// From a package to the graphs that are planned: lowering and all rewrites.
#pragma once
#include "compiler/artifact/identity.h"
#include "compiler/driver/check_options.h"
#include "compiler/driver/passes.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/store_weights.h"

namespace longwave::compiler {

struct ModelGraphs {
    StateIdentity identity;
    ir::Graph offline;
    ir::Graph stream;      // of the same model; empty: it has no stream
    ir::Graph exact;       // where weights were rounded: `offline` with the weights of the package
    bool streams = false;  // there is a stream to plan
    std::string no_stream; // why the model cannot stream; empty when it can or was not asked
    uint32_t capacity = 0; // input ticks of an offline run
    std::vector<StoredWeights> stored; // what rounding weights costs, per layer
};

// Takes the weights out of the package as soon as constants hold them. Errors: as lower and the
// passes; Fault::usage for a window or a stream that the model cannot have.
Expected<ModelGraphs> make_graphs(Passes &passes, package::Package &package, const Request &request,
                                  const Options &options);

} // namespace longwave::compiler
