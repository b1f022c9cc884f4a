#include "compiler/codegen/kernel_entry.h"
#include <doctest/doctest.h>

namespace signature_test {

using namespace longwave;
using compiler::parse_signature;

TEST_CASE("kernel signature: arguments with their kinds, types and dimensions") {
    const auto signature =
        parse_signature(R"({"args":[{"name":"x","kind":"input","elem":"f32","dims":[[96,1],[4,-96]]},
        {"name":"at","kind":"scalar","elem":"i32","dims":[],"high":40},
        {"name":"y","kind":"output","elem":"f64","dims":[[1,1]]}],"scratch_bytes":4096})");
    REQUIRE_MESSAGE(signature, signature.status().message());
    CHECK(signature->scratch_bytes == 4096);
    REQUIRE(signature->args.size() == 3);
    CHECK(signature->args[0].name == "x");
    CHECK(signature->args[0].kind == schedules::ArgKind::input);
    CHECK(signature->args[0].dims.at(1).extent == 4);
    CHECK(signature->args[0].dims.at(1).stride == -96);
    CHECK(signature->args[1].kind == schedules::ArgKind::scalar);
    CHECK(signature->args[1].high == 40);
    CHECK(signature->args[2].elem == schedules::Elem::f64);
}

TEST_CASE("kernel signature: arguments that change their layout together") {
    const auto signature =
        parse_signature(R"({"args":[{"name":"x","kind":"input","elem":"f32","dims":[[16,1],[4,16]]},
        {"name":"b","kind":"input","elem":"f32","dims":[[16,1]]},
        {"name":"y","kind":"output","elem":"f32","dims":[[16,1],[4,16]]}],"scratch_bytes":0,
        "layout_groups":[[0],[2]],"sectors_by_row":16,"prefers_one_order":true})");
    REQUIRE_MESSAGE(signature, signature.status().message());
    CHECK(signature->args[0].layout_group == 1);
    CHECK(signature->args[1].layout_group == 0);
    CHECK(signature->args[2].layout_group == 2);
    CHECK(signature->sectors_by_row == 16);
    CHECK(signature->prefers_one_order);
}

TEST_CASE("kernel signature: keys that are not known mean nothing") {
    CHECK(parse_signature(
        R"({"args":[{"name":"x","kind":"scalar","elem":"i32","red":1}],"scratch_bytes":0,"more":{}})"));
}

TEST_CASE("kernel signature: a text that is none is a failure that names the place, never an exception") {
    const std::pair<const char *, const char *> cases[] = {
        {"", "kernel signature"},
        {"[[[[[[[[[[", "nested"},
        {"\"\xff\"", "kernel signature"},
        {"[]", "all of it"},
        {R"({"scratch_bytes":0})", "args"},
        {R"({"args":[]})", "scratch_bytes"},
        {R"({"args":[],"scratch_bytes":1e3})", "scratch_bytes"},
        {R"({"args":[7],"scratch_bytes":0})", "args[0]"},
        {R"({"args":[{"kind":"input","elem":"f32"}],"scratch_bytes":0})", "args[0].name"},
        {R"({"args":[{"name":"x","kind":7,"elem":"f32"}],"scratch_bytes":0})", "args[0].kind"},
        {R"({"args":[{"name":"x","kind":"input","elem":"f16"}],"scratch_bytes":0})", "args[0].elem"},
        {R"({"args":[{"name":"x","kind":"input","elem":"f32","dims":[[4294967296,1]]}],"scratch_bytes":0})",
         "args[0].dims"},
        {R"({"args":[{"name":"x","kind":"input","elem":"f32","dims":[[1,-2147483649]]}],"scratch_bytes":0})",
         "args[0].dims"},
        {R"({"args":[{"name":"","kind":"input","elem":"f32","dims":[7,7,7,7,7,7,7,7,7]}],"scratch_bytes":0})",
         "dims"},
        {R"({"args":[{"name":"x","kind":"scalar","elem":"i32","high":-1}],"scratch_bytes":0})",
         "args[0].high"},
        {R"({"args":[],"scratch_bytes":0,"layout_groups":7})", "layout_groups"},
        {R"({"args":[],"scratch_bytes":0,"sectors_by_row":3})", "sectors_by_row"},
        {R"({"args":[],"scratch_bytes":0,"sectors_by_row":33})", "sectors_by_row"},
        {R"({"args":[],"scratch_bytes":0,"sectors_by_row":"16"})", "sectors_by_row"},
        {R"({"args":[],"scratch_bytes":0,"layout_groups":[[0]]})", "layout_groups"},
        {R"({"args":[],"scratch_bytes":0,"layout_groups":[-1]})", "layout_groups"},
        {R"({"args":[{"name":"x","kind":"input","elem":"f32","dims":[[4,1]]}],"scratch_bytes":0,"layout_groups":[[0]]})",
         "layout_groups"}, // one dimension has no rows
    };
    for (const auto &[text, where] : cases) {
        CAPTURE(text);
        const auto signature = parse_signature(text);
        REQUIRE(!signature);
        CHECK(signature.status().fault() == Fault::internal);
        CHECK_MESSAGE(signature.status().message().find(where) != std::string::npos,
                      signature.status().message());
    }
}

} // namespace signature_test
