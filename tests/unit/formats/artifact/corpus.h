// The corpus: every artifact that the tests of the rules know by name, with the rule that it
// breaks. It is made by the tests' own code, never stored. tests/attack opens it through the C API
// and holds each check of the verifier against it.
#pragma once
#include "tests/unit/formats/artifact/cases.h"
#include <string>
#include <vector>

namespace longwave::test {

struct Sample {
    std::string name;
    int rule = 0; // the one it breaks; 0: none
    std::vector<uint8_t> bytes;
    uint64_t memory_limit = 0;
    std::vector<uint8_t> front; // header and plan as they were read, where the file has changed since
    uint64_t claimed_size = 0;  // the size that the check gets; 0: the size of the bytes
    bool modules_alone = false; // rule V21 of a plan that no other rule has seen
};
using Samples = std::vector<Sample>;

// What verify() says of a sample and, for what a GPU runs, open_modules(). Rule 0: nothing is
// broken.
artifact::Broken verdict_of(const Sample &sample);

void add_cases(Samples &samples, const char *group, Draft (*model)(), std::span<const Case> cases);

Samples corpus();                        // all below, in this order; names differ
void header_samples(Samples &samples);   // verify_test.cc
void plan_samples(Samples &samples);     // plan_rules_test.cc
void memory_samples(Samples &samples);   // memory_rules_test.cc
void modules_samples(Samples &samples);  // modules_test.cc
void number_samples(Samples &samples);   // number_samples.cc
void step_samples(Samples &samples);     // step_samples.cc
void text_samples(Samples &samples);     // text_samples.cc
void together_samples(Samples &samples); // together_rules_test.cc

} // namespace longwave::test
