// The function of one part of a chain, for one of its workgroups: its accesses go to the buffers of
// the stream and to its own piece of shared memory.
#pragma once
#include "compiler/spirv/chain_module.h"
#include <array>

namespace longwave::spirv {

// The code of a chain while it is written: values, barriers, branches and loops.

class ChainCode {
public:
    explicit ChainCode(ChainModule &module) : module_(module) {}

    ChainModule &module() { return module_; }
    void write(spv::Op op, Operands operands) { put(body_, op, operands); }
    void write(spv::Op op, std::initializer_list<uint32_t> operands) { put(body_, op, operands); }
    uint32_t value(spv::Op op, uint32_t type, std::initializer_list<uint32_t> operands);
    uint32_t number(spv::Op op, std::initializer_list<uint32_t> operands) {
        return value(op, module_.type_uint(), operands);
    }
    uint32_t truth(spv::Op op, std::initializer_list<uint32_t> operands) {
        return value(op, module_.type_bool(), operands);
    }
    // A variable of the function, which stands before all code.
    void add_variable(Operands operands) { put(variables_, spv::OpVariable, operands); }

    uint32_t divide(uint32_t a, uint32_t by);
    uint32_t modulo(uint32_t a, uint32_t by);
    // The coordinates of number `a` in a box.
    uint32_t triple(uint32_t a, const std::array<uint32_t, 3> &box);

    // All threads of the workgroup wait for each other, and see what the others wrote.
    void barrier();
    // for (i = first; i < end; i += step) body(i, next). The body ends with a branch to `next`.
    template <class Body> void loop(uint32_t first, uint32_t end, uint32_t step, const Body &body) {
        const Loop made = begin_loop(first, end);
        body(made.now, made.next);
        end_loop(made, step);
    }

    Words take();

private:
    struct Loop {
        uint32_t counter = 0, head = 0, next = 0, end = 0; // the variable, and labels
        uint32_t now = 0;                                  // the value of the counter
    };
    Loop begin_loop(uint32_t first, uint32_t end_at);
    void end_loop(const Loop &loop, uint32_t step);

    ChainModule &module_;
    Words variables_, body_;
};

// The shared memory of a chain. Its parts use it one after another, so it is as large as that of
// the part that needs most.

// An array of a part within the chain's array of the same elements.
struct SharedArray {
    uint32_t variable = 0, first = 0, length = 0; // of the chain; elements
};

class ChainShared {
public:
    // The arrays of the part by its variables, for `slots` workgroups side by side. Workgroup s has
    // the elements from first + s * length on.
    std::map<uint32_t, SharedArray> place(const Module &part, uint32_t slots, ChainModule &chain);
    // Declares what was placed. Returns its bytes.
    uint32_t declare(ChainModule &chain) const;

private:
    struct Pool {
        uint32_t variable = 0, length = 0;
    };
    std::map<uint32_t, Pool> pools_;     // by type of elements
    std::map<uint32_t, uint32_t> bytes_; // of types
};

// What a part's function is given in its chain. Values are ids.
struct ChainBody {
    const Module &part;                            // its ids are those of the chain
    const std::map<uint32_t, uint32_t> &offsets;   // by variable: what is added to its indices
    const std::map<uint32_t, SharedArray> &shared; // by variable
    uint32_t slots = 1;                            // workgroups side by side in shared memory
    uint32_t slot = 0;                             // number of the workgroup among them
    uint32_t group = 0, thread = 0;                // coordinates
    uint32_t exists = 0;                           // whether there is such a workgroup; 0: there is
};

// Ends with a branch to `end`. A workgroup that does not exist stores nothing. Throws Fault for code
// of another form.
void write_body(const ChainBody &body, uint32_t end, ChainCode &code);

} // namespace longwave::spirv
