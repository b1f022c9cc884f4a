// What a kernel refuses: specifications it cannot be made from, one clear line each, and numbers
// outside its range.
#include "tests/kernels/check.h"
#include <algorithm>

namespace refusal_test {

using namespace longwave::test;

TEST_CASE("kgen: a bad specification is refused with the kernel and the param") {
    const std::pair<std::string, const char *> bad[] = {
        {R"({"kernel":"linear","params":{"in":16,"out":16}})", "linear: param 'rows' is missing"},
        {R"({"kernel":"linear","params":{"in":16,"out":16,"rows":1,"colour":3}})",
         "linear: unknown param 'colour'"},
        {R"({"kernel":"linear","params":{"in":16,"out":0,"rows":1}})",
         "linear: param 'out' is 0, must be in [1,"},
        {R"({"kernel":"linear","params":{"in":"16","out":1,"rows":1}})",
         "linear: param 'in' must be an integer"},
        {R"({"kernel":"linear","params":{"in":16,"out":1,"rows":1},"epilogue":[{"op":"mish"}]})",
         "linear: epilogue 0: param 'op'"},
        {R"({"kernel":"linear","params":{"in":16,"out":1,"rows":1},"epilogue":[{"op":"log"}]})",
         "param 'offset' is missing"},
        {R"({"kernel":"linear","params":{"in":16,"out":1,"rows":1},"tiles":4})", "unknown key 'tiles'"},
        {R"({"kernel":"bilinear","params":{}})", "unknown kernel 'bilinear'"},
        {R"({"kernel":"long_conv_direct","params":{"channels":16,"taps":9,"rows":2,"ring":8}})",
         "'ring' must hold rows + taps - 1 rows"},
        {R"({"kernel":"long_conv_right_angle","params":{"length":7,"rows":7,"channels":16}})",
         "'length' must be a product of 2, 3 and 5"},
        {R"({"kernel":"long_conv_right_angle","params":{"length":8,"rows":8,"channels":3},"epilogue":[{"op":"sigmoid"}]})",
         "needs channels to be a multiple of 16"},
        {R"({"kernel":"long_conv_dyadic","params":{"channels":1,"rows":10,"kernel_dim":4,"scales":3,"taps":16,"period":144}})",
         "'period' must be a multiple of the rings' lengths and of 'rows'"},
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

TEST_CASE("signature: a scalar states every value the kernel accepts") {
    struct Stated {
        std::string spec, scalar;
        int high, multiple;
    };
    const std::vector<Stated> all = {
        {spec("long_conv_direct", R"("channels":16,"taps":9,"rows":2,"ring":12)"), "position", 10, 1},
        {spec("mean_window", R"("channels":16,"rows":3,"ring":20,"frames":6)"), "position", 17, 1},
        {spec("mean_run", R"("channels":16,"rows":33,"mode":"mean")"), "length", 33, 1},
        {spec("frame_power", R"("window":400,"hop":160,"n_fft":512,"rows":1,"ring":480)"), "position", 320,
         80},
        {spec("long_conv_partitioned", R"("block":16,"partitions":3,"channels":16)"), "slot", 2, 1},
        {spec(
             "conv2d",
             R"("time":3,"frequency":1,"in_f":1,"in_c":1,"out_f":1,"out_c":6,"rows":2,"ring":6,"stride_t":2)"),
         "position", 2, 1},
    };
    std::vector<std::string> specs;
    for (const Stated &one : all) specs.push_back(one.spec);
    auto kernels = load_kernels(specs, *longwave::targets::find("x86-64-v2"), find_kgen());
    REQUIRE_MESSAGE(kernels, kernels.status().message());
    for (size_t i = 0; i < all.size(); i++) {
        INFO(all[i].spec);
        int scalars = 0;
        for (const longwave::schedules::KernelArg &arg : (*kernels)[i].signature().args) {
            if (arg.kind != longwave::schedules::ArgKind::scalar) continue;
            scalars++;
            CHECK(arg.name == all[i].scalar);
            CHECK(arg.high == all[i].high);
            CHECK(arg.multiple == all[i].multiple);
        }
        CHECK(scalars == 1);
    }
}

TEST_CASE("scalars: a number outside the stated range addresses as the nearest one inside") {
    const int high = 4, taps = 3, ring = 6;
    run_everywhere(
        {{spec("long_conv_direct", fmt::format(R"("channels":16,"taps":{},"rows":2,"ring":{})", taps, ring)),
          [=](Kernel &k) {
              for (const int position : {-1, -1000000, 5, 2000000000}) {
                  k.scalar("position") = position;
                  const int taken = std::clamp(position, 0, high);
                  compare(
                      k, "y",
                      [&](const std::vector<int> &at) {
                          double sum = 0;
                          for (int t = 0; t < taps; t++)
                              sum += k["k"].get({at[0], 0, t}) *
                                     k["u"].get({at[0], (taken + at[2] - t + ring) % ring});
                          return sum;
                      },
                      limit(taps));
              }
          }}});
}

} // namespace refusal_test
