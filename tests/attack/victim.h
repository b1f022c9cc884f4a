// What is done with a mutant: everything that a program may do with an artifact from someone else.
#pragma once
#include "tests/attack/followed.h"
#include "tests/fuzz/known_code.h"
#include <cstdint>
#include <string>
#include <vector>

struct lw_device;

namespace longwave::attack {

struct Counts {
    uint64_t inputs = 0, sound = 0, ran = 0, opened = 0, on_gpu = 0;
};

class Victim {
public:
    // `artifact`: the original, whose code may run. `device`: null without a GPU.
    Victim(const std::vector<uint8_t> &artifact, lw_device *device);

    // Ends the process with a reason where a promise does not hold. A mutant whose indices may be
    // others (followed.h) is opened, not run. `gpu_runs`: the GPU's code is untouched.
    void attack(const std::vector<uint8_t> &bytes, bool gpu_runs, uint64_t number, Counts &counts);

private:
    void use(const std::vector<uint8_t> &bytes, lw_device *device, bool at_front, bool run, Counts &counts);

    fuzz::KnownCode known_;
    const Followed followed_;
    lw_device *device_;
};

} // namespace longwave::attack
