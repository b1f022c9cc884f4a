// How an op says which kernel computes it. Its kernel rule reads the facts of a place in a plan and names a kernel of schedules/README.md with its params and
// arguments, once for a whole sequence and for a block of a stream: what a row is, where it lies and how calls are tiled is the planner's business, which
// implements this interface.
//
//     Status kernel(KernelCall &call) {
//         call.kernel("linear");
//         call.param("in", call.type(0).row());
//         call.read_rows(0);
//         call.weight("weight", packed);
//         call.write();
//         return Status::ok();
//     }
//
// Errors (Fault::input) say what the kernel cannot compute; the planner adds the layer.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include <string>
#include <vector>

namespace longwave::ir {

class KernelCall {
public:
    virtual ~KernelCall() = default;
    const Node &node;

    // ---- facts ----
    virtual const Type &type(size_t input) const = 0;
    virtual const Type &result() const = 0;                  // after what is fused behind the op
    virtual const Numbers &constant(size_t input) const = 0; // data of a constant input
    virtual const Node *producer(size_t input) const = 0;    // the op that makes an input; null for inputs and constants of the graph
    virtual const Numbers &constant(const Node &of, size_t input) const = 0;
    virtual bool gated() const = 0;                         // a glu behind the op is part of its kernel
    virtual uint32_t rows() const = 0;                      // output rows of one call
    virtual uint32_t rows_of_input(size_t input) const = 0; // of a whole sequence or block

    // ---- the kernel ----
    virtual void kernel(const std::string &name) = 0;
    virtual void param(const std::string &name, Attribute value) = 0;
    // All rows of a sequence or block in one call, not in tiles: for kernels that carry something from row to row. Say so before asking for rows().
    virtual void one_call() = 0;

    // ---- its arguments, in the kernel's order within inputs, weights, scalars and outputs ----
    virtual void read_rows(size_t input) = 0; // the rows that belong to this call's output rows
    // Rows with their history, `reads` new ones for each output row: sets the param `ring`, appends the scalar `position`.
    virtual void read_ring(size_t input, uint32_t reads = 1) = 0;
    virtual void read_all(size_t input) = 0; // every row, whatever the tile
    virtual void weight(const std::string &name, const std::vector<float> &packed) = 0;
    virtual void write() = 0;                  // the result's rows
    virtual void valid_rows(size_t input) = 0; // scalar: rows of an input before the end of the sequence, known at run time
    // What the kernel carries from call to call: reads one slot, writes the other. Appends an input and an output; zero at the start.
    virtual void carry(const std::string &name, uint64_t bytes) = 0;
    // A long convolution: everything of the above, by the algorithm the planner has chosen for it.
    virtual Status convolution() = 0;

protected:
    explicit KernelCall(const Node &of) : node(of) {}
};

} // namespace longwave::ir
