// Runs a GPU kernel's list of instructions on the CPU: all threads of a workgroup in lock step.
#pragma once
#include "schedules/gpu/program.h"
#include <string>
#include <vector>

namespace longwave::test {

struct Interpreted {
    // The first fault, "" if there is none: an index outside of a buffer or of shared memory, a
    // store to a buffer that is only read, a barrier inside a guard, threads of a workgroup that leave a
    // loop at different iterations, two threads that access one element of shared memory with no barrier
    // between, or two threads of the dispatch that store to one element.
    std::string fault;
};

// All workgroups, one after the other. `buffers` in the order of Program::buffers().
Interpreted interpret(const gpu::Program &program, std::vector<std::vector<float>> &buffers);

} // namespace longwave::test
