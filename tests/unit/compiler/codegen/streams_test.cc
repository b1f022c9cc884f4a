// Modules that are not made for many streams: each for a reason that is told.
#include "compiler/spirv/rewrite_batch.h"
#include <doctest/doctest.h>
#include <stdexcept>

namespace streams_test {

using namespace longwave::spirv;

namespace {

// Of tests/support/gpu/fir.comp, which knows its workgroup by gl_GlobalInvocationID.
const std::vector<uint32_t> fir = {
#include "tests/support/gpu/fir.inc"
};

const std::vector<uint32_t> shift = {
#include "tests/support/gpu/shift.inc"
};

std::string fault_of(const std::vector<uint32_t> &words) {
    try {
        rewrite_batch(words, {1, 1, 1}, 1);
    } catch (const std::invalid_argument &fault) {
        return fault.what();
    }
    return "";
}

} // namespace

TEST_CASE("streams: a module that knows its workgroup otherwise, no module and part of one are refused") {
    CHECK(fault_of(fir).find("WorkgroupId") != std::string::npos);
    CHECK(fault_of({}).find("not a SPIR-V module") != std::string::npos);
    std::vector<uint32_t> part = shift;
    part.resize(part.size() - 3); // within the last store
    CHECK(fault_of(part).find("longer than the module") != std::string::npos);
}

TEST_CASE("streams: a module gets one more buffer behind its others, and looks up where the others begin") {
    const BatchedModule made = rewrite_batch(shift, {3, 1, 1}, 2);
    CHECK(made.table == 2);
    CHECK(made.words[3] > shift[3]); // ids
    const auto count = [](const std::vector<uint32_t> &words, uint32_t op) {
        size_t n = 0;
        for (size_t at = 5; at < words.size(); at += words[at] >> 16) n += (words[at] & 0xffff) == op;
        return n;
    };
    const uint32_t access_chain = 65, divide = 134, modulo = 137;
    CHECK(count(made.words, access_chain) == count(shift, access_chain) + 2);
    CHECK(count(made.words, divide) == 0);
    const std::vector<uint32_t> deep =
        rewrite_batch(shift, {3, 1, 4}, 2).words; // the depth of its own is folded in
    CHECK(count(deep, divide) == 1);
    CHECK(count(deep, modulo) == 1);
    CHECK(rewrite_batch(shift, {3, 1, 4}, 2).words == deep);
}

} // namespace streams_test
