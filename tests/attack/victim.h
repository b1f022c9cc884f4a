// What is done with a mutant: everything that a program may do with an artifact from someone else.
#pragma once
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

    // Ends the process with a reason where a promise does not hold. `places_changed`: where kernels
    // read and write, or what the values mean there; then models that look up token ids are opened,
    // not run. `gpu_runs`: their code is untouched.
    void attack(const std::vector<uint8_t> &bytes, bool places_changed, bool gpu_runs, uint64_t number,
                Counts &counts);

private:
    void use(const std::vector<uint8_t> &bytes, lw_device *device, bool at_front, bool run, Counts &counts);

    fuzz::KnownCode known_;
    bool looks_up_ = false; // kernels follow indices that they are given
    lw_device *device_;
};

} // namespace longwave::attack
