// The mutants of one artifact, by number: each number of its header, its plan and its GPU
// manifests, each list, text and field, words of its segments, and its length. The same number is
// the same mutant in every run.
#pragma once
#include "tests/attack/places.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::attack {

class Mutants {
public:
    // Keeps a copy, whose plan and manifests are written with every number in place.
    explicit Mutants(const std::vector<uint8_t> &artifact);

    const std::vector<uint8_t> &original() const { return original_; }
    uint64_t singles() const { return singles_; } // mutants with one change; those behind have two or three

    struct Mutant {
        std::vector<uint8_t> bytes;
        std::string name;      // its changes: "entries[2].steps[4].tiles = 0"
        bool gpu_code = false; // a GPU's manifest or SPIR-V differs
        bool segments = false; // bytes of a segment, or where it lies
    };
    Mutant make(uint64_t number) const;

private:
    struct Part { // of the file: one flatbuffer, or the header
        uint64_t begin = 0;
        Places places;
        bool gpu = false;
        uint32_t segment = 0; // of a manifest
    };
    void add_header();
    void change(Mutant &mutant, uint64_t number) const;
    void change_place(Mutant &mutant, const Part &part, const Place &place, uint32_t how) const;
    void change_bytes(Mutant &mutant, uint64_t number) const;
    void seal(Mutant &mutant) const;

    std::vector<uint8_t> original_;
    std::vector<Part> parts_;
    std::vector<uint64_t> ends_; // mutants up to each part
    uint64_t singles_ = 0;
};

} // namespace longwave::attack
