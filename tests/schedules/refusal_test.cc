// Specifications no kernel can be made from: one clear line each.
#include "tests/schedules/check.h"

using namespace longwave::test;

TEST_CASE("kgen: a bad specification is refused with the kernel and the param") {
    const std::pair<std::string, const char *> bad[] = {
        {R"({"kernel":"linear","params":{"in":16,"out":16}})", "linear: param 'rows' is missing"},
        {R"({"kernel":"linear","params":{"in":16,"out":16,"rows":1,"colour":3}})", "linear: unknown param 'colour'"},
        {R"({"kernel":"linear","params":{"in":16,"out":0,"rows":1}})", "linear: param 'out' is 0, must be in [1,"},
        {R"({"kernel":"linear","params":{"in":"16","out":1,"rows":1}})", "linear: param 'in' must be an integer"},
        {R"({"kernel":"linear","params":{"in":16,"out":1,"rows":1},"epilogue":[{"op":"softplus"}]})", "linear: epilogue 0: param 'op'"},
        {R"({"kernel":"linear","params":{"in":16,"out":1,"rows":1},"epilogue":[{"op":"log"}]})", "param 'offset' is missing"},
        {R"({"kernel":"linear","params":{"in":16,"out":1,"rows":1},"tiles":4})", "unknown key 'tiles'"},
        {R"({"kernel":"bilinear","params":{}})", "unknown kernel 'bilinear'"},
        {R"({"kernel":"long_conv_direct","params":{"channels":16,"taps":9,"rows":2,"ring":8}})", "'ring' must hold rows + taps - 1 rows"},
        {R"({"kernel":"long_conv_right_angle","params":{"length":7,"rows":7,"channels":16}})", "'length' must be a product of 2, 3 and 5"},
        {R"({"kernel":"long_conv_right_angle","params":{"length":8,"rows":8,"channels":3},"epilogue":[{"op":"sigmoid"}]})",
         "needs channels to be a multiple of 16"},
        {R"({"kernel":"softmax","params":{"channels":3,"rows":1},)", "specification:"},
    };
    for (const auto &[text, message] : bad) {
        INFO(text);
        const auto result = load_kernels({text}, *longwave::targets::find("x86-64-v2"), find_kgen());
        REQUIRE(!result);
        INFO(result.status().message());
        CHECK(result.status().message().find(message) != std::string::npos);
    }
}
