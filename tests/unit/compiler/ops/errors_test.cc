// Inputs that each op must refuse: one line each, with the part of the message that names what is
// wrong.
#include "tests/unit/compiler/ir/graphs.h"

namespace errors_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

struct Refused {
    const char *x, *constants, *node, *expected;
};

} // namespace

TEST_CASE("ops: shapes and attributes that do not fit are refused by name") {
    for (const Refused &r : {
             Refused{"f32[1] @1/1", "[4]", "frame(%x, %0) {window=5, hop=2}",
                     "window expected shape [5], found [4]"},
             Refused{"f32[2] @1/1", "[4]", "frame(%x, %0) {window=4, hop=2}",
                     "expected a mono signal [1], found [2]"},
             Refused{"f32[1] @1/1", "[4]", "frame(%x, %0) {window=4, hop=0}",
                     "attribute hop expected 1 to 1048576, found 0"},
             Refused{"f32[1] @1/1048576", "[4]", "frame(%x, %0) {window=4, hop=1048576}",
                     "too large for a clock"},
             Refused{"f32[8] @1/1", "", "power_spectrum(%x) {n_fft=4}",
                     "n_fft 4 is shorter than the window of 8"},
             Refused{"f32[2,4] @1/1", "", "power_spectrum(%x) {n_fft=8}",
                     "expected rows with 1 dimension, found [2,4]"},
             Refused{"f32[4] @1/1", "[2,4] [3]", "linear(%x, %0, %1) {bias=1}",
                     "bias expected shape [2], found [3]"},
             Refused{"f32[4] @1/1", "[8]", "linear(%x, %0) {bias=0}",
                     "weight expected shape [any,4], found [8]"},
             Refused{"f32[4] @1/1", "[2,4]", "linear(%x, %0) {bias=2}",
                     "attribute bias expected 0 to 1, found 2"},
             Refused{"f32[4] @1/1", "[2,4]", "linear(%x, %x) {bias=0}", "weight must not have a time axis"},
             Refused{"f32[4] @1/1", "[2,3,3,1]",
                     "conv2d(%x, %0) {stride_t=1, stride_f=1, groups=1, bias=0, frequency=0}",
                     "weight expected shape [any,4,any,any]"},
             Refused{"f32[4] @1/1", "[2,1,3,1]",
                     "conv2d(%x, %0) {stride_t=1, stride_f=1, groups=3, bias=0, frequency=0}",
                     "4 channels do not divide into 3 groups"},
             Refused{"f32[4] @1/1", "[3,2,3,1]",
                     "conv2d(%x, %0) {stride_t=1, stride_f=1, groups=2, bias=0, frequency=0}",
                     "3 output channels do not divide into 2 groups"},
             Refused{"f32[4] @1/1", "[2,4,3,1]",
                     "conv2d(%x, %0) {stride_t=0, stride_f=1, groups=1, bias=0, frequency=0}",
                     "stride_t expected 1"},
             Refused{"f32[4] @1/1", "[2,4,3,1]",
                     "conv2d(%x, %0) {stride_t=1, stride_f=1, groups=1, bias=0, frequency=0, dilation=0}",
                     "dilation expected 1 to 65536, found 0"},
             Refused{"f32[4] @1/1", "[2,4,258,1]",
                     "conv2d(%x, %0) {stride_t=1, stride_f=1, groups=1, bias=0, frequency=0, dilation=65536}",
                     "a kernel of 16842753 rows with its dilation, expected at most 16777216"},
             Refused{"f32[2,2,2] @1/1", "[2,2,3,1]",
                     "conv2d(%x, %0) {stride_t=1, stride_f=1, groups=1, bias=0, frequency=0}",
                     "expected rows with 1 dimension"},
             Refused{"f32[1,4] @1/1", "[2,4,1,6]",
                     "conv2d(%x, %0) {stride_t=1, stride_f=1, groups=1, bias=0, frequency=0}",
                     "a kernel of 6 frequencies does not fit 5 padded ones"},
             Refused{"f32[4] @0/1", "[2,4,3,1]",
                     "conv2d(%x, %0) {stride_t=1, stride_f=1, groups=1, bias=0, frequency=0}",
                     "expected a sequence"},
             Refused{"f32[4] @1/1", "[2,4,8] [1,4]", "long_conv(%x, %0, %1) {channels=1, two_sided=0}",
                     "kernel expected shape [1,4,any], found [2,4,8]"},
             Refused{"f32[4] @1/1", "[1,4,8] [1,4]", "long_conv(%x, %0, %1) {channels=1, two_sided=1}",
                     "kernel expected shape [2,4,any], found [1,4,8]"},
             Refused{"f32[4] @1/1", "[1,4,8] [4]", "long_conv(%x, %0, %1) {channels=1, two_sided=0}",
                     "D expected shape [1,4], found [4]"},
             Refused{"f32[2,4] @1/1", "[1,4,8] [1,4]", "long_conv(%x, %0, %1) {channels=1, two_sided=0}",
                     "expected rows with 1 dimension"},
             Refused{"f32[4] @0/1", "[1,4,8] [1,4]", "long_conv(%x, %0, %1) {channels=1, two_sided=0}",
                     "expected a sequence"},
             Refused{"f32[4] @1/1", "[3] [4]", "affine(%x, %0, %1)", "scale expected shape [4], found [3]"},
             Refused{"f32[2,4] @1/1", "[4] [2]", "affine(%x, %0, %1)", "shift expected shape [4], found [2]"},
             Refused{"f32[4] @1/1", "[4] [4] [4]", "batch_norm(%x, %0, %1, %2) {eps=1e-5}",
                     "expects 5 inputs, found 4"},
             Refused{"f32[4] @1/1", "[4] [4] [4] [3]", "batch_norm(%x, %0, %1, %2, %3) {eps=1e-5}",
                     "running_var expected shape [4], found [3]"},
             Refused{"f32[4] @1/1", "[4] [4] [4] [4]", "batch_norm(%x, %0, %1, %2, %3) {eps=-1.0}",
                     "eps expected 0 or more"},
             Refused{"f32[2,4] @1/1", "[4] [4]", "layer_norm(%x, %0, %1) {eps=1e-5}",
                     "weight expected shape [8], found [4]"},
             Refused{"f32[4] @1/1", "[4] [4]", "layer_norm(%x, %0, %1) {eps=-1.0}", "eps expected 0 or more"},
             Refused{"f32[4] @1/1", "[2] [1]", "transposed_layer_norm(%x, %0, %1)",
                     "m expected shape [1], found [2]"},
             Refused{"f32[4] @1/1", "[4,1]", "rms_norm(%x, %0) {eps=1e-6}",
                     "weight expected shape [4], found [4,1]"},
             Refused{"f32[4] @1/1", "[4]", "rms_norm(%x, %0) {eps=-1.0}", "eps expected 0 or more"},
             Refused{"f32[1] @1/1", "[4,2]", "embedding(%x, %0)", "expected token ids, found float32 rows"},
             Refused{"i32[2] @1/1", "[4,2]", "embedding(%x, %0)", "expected one id a row, found [2]"},
             Refused{"i32[1] @1/1", "[4]", "embedding(%x, %0)", "table expected shape [any,any], found [4]"},
             Refused{"i32[1] @1/1", "", "relu(%x)", "found token ids"},
             Refused{"i32[1] @1/1", "[1,1]", "linear(%x, %0) {bias=0}", "found token ids"},
             Refused{"f32[2,4] @1/1", "", "glu(%x)", "expected rows with 1 dimension, found [2,4]"},
             Refused{"f32[4] @1/1", "", "mean(%x) {mode=\"median\"}",
                     "mode expected mean, sum, max, first or last, found \"median\""},
             Refused{"f32[4] @0/1", "", "mean(%x) {mode=\"mean\"}", "expected a sequence"},
             Refused{"f32[4] @1/1", "", "running_mean(%x) {mode=\"last\"}", "mode expected mean, sum or max"},
             Refused{"f32[4] @1/1", "", "mean_window(%x) {frames=0}", "frames expected 1"},
             Refused{"f32[4] @1/1", "", "pair_features(%x, %x)", "expected two pooled sequences"},
             Refused{"f32[4] @1/1", "", "repeat(%x, %x)", "expected a value without a time axis to repeat"},
             Refused{"f32[4] @1/1", "", "scalar(%x) {high=1.0, initial=2.0, low=0.0, name=\"a\", smoothed=0}",
                     "expected low <= initial <= high within 3e38, found 0, 2, 1"},
             Refused{"f32[4] @1/1", "",
                     "scalar(%x) {high=1.0, initial=0.0, low=0.0, name=\"a/b\", smoothed=0}",
                     "attribute name expected 1 to 256 bytes of printable text"},
             Refused{"f32[4] @1/1", "", "scalar(%x) {high=1.0, initial=0.0, low=0.0, name=\"a\", smoothed=2}",
                     "smoothed expected 0 to 1"},
             Refused{"i32[1] @1/1", "", "scalar(%x) {high=1.0, initial=0.0, low=0.0, name=\"a\", smoothed=1}",
                     "found token ids"},
             Refused{"f32[4] @1/1", "", "image_patches(%x) {line=6, side=4}",
                     "line expected a multiple of side 4, found 6"},
             Refused{"f32[4] @1/1", "[4]", "add(%x, %0)",
                     "expected two inputs of one clock, found 1/1 and 0/1"},
             Refused{"f32[4] @1/1", "[3]", "mul(%x, %0)",
                     "expected two inputs of one shape, found [4] and [3]"},
             Refused{"f32[4] @1/1", "[2,3]", "expand_scales(%0) {nearest=0, init_scale=0, taps=1}",
                     "parameters expected shape [any,any,any,any]"},
             Refused{"f32[4] @1/1", "[2,1,1,3]", "expand_scales(%0) {nearest=2, init_scale=0, taps=1}",
                     "nearest expected 0 to 1"},
             Refused{"f32[4] @1/1", "[25,1,1,1]", "expand_scales(%0) {nearest=0, init_scale=0, taps=1}",
                     "at most 24 scales, found 25"},
             Refused{"f32[4] @1/1", "[1,3,4] [1,3] [3]",
                     "sgconv_kernel(%0, %1, %2, %2) {mode=\"cat_randn\", kernel_dim=2, num_scales=1, "
                     "init_scale=0, l_max=2, resolution=2, "
                     "channels=1, heads=3}",
                     "kernel_list.0 expected shape [1,3,2], found [1,3,4]"},
             Refused{"f32[4] @1/1", "[1,3,2] [3] [3]",
                     "sgconv_kernel(%0, %1, %2, %2) {mode=\"cat_randn\", kernel_dim=2, num_scales=1, "
                     "init_scale=0, l_max=2, resolution=2, "
                     "channels=1, heads=3}",
                     "kernel_norm expected shape [1,3], found [3]"},
             Refused{"f32[4] @1/1", "[1,3,2] [1,3] [1]",
                     "sgconv_kernel(%0, %1, %2, %2) {mode=\"cat_randn\", kernel_dim=2, num_scales=1, "
                     "init_scale=0, l_max=2, resolution=2, "
                     "channels=1, heads=3}",
                     "growth expected shape [3], found [1]"},
             Refused{"f32[4] @1/1", "[1,3,2] [1,3] [3]",
                     "sgconv_kernel(%0, %1, %2) {mode=\"cat_randn\", kernel_dim=2, num_scales=1, "
                     "init_scale=0, l_max=2, resolution=2, channels=1, "
                     "heads=3}",
                     "expects 4 inputs, found 3"},
         }) {
        std::string text = std::string("%x = input \"x\" ") + (r.x[0] == 'i' ? "tokens" : "features") +
                           " : " + r.x + "\n",
                    constants = r.constants;
        for (int i = 0; !constants.empty(); ++i) {
            const std::string shape = constants.substr(0, constants.find(' '));
            constants.erase(0, shape.size() + 1);
            text += "%" + std::to_string(i) + " = const \"c\" : " + shape + "\n";
        }
        const auto graph = parse(text + "%y = " + r.node);
        CAPTURE(r.node);
        REQUIRE(!graph);
        CHECK(graph.status().fault() == Fault::input);
        INFO(graph.status().message());
        CHECK(graph.status().message().find(r.expected) != std::string::npos);
    }
}

TEST_CASE("ops: two values of different delay do not meet") {
    const auto graph = parse("%a = input \"a\" features : f32[4] @1/1\n%b = input \"b\" features : f32[4] "
                             "@1/1 delay=3\n%y = add(%a, %b)");
    REQUIRE(!graph);
    CHECK(graph.status().message().find("expected two inputs of one delay, found 0 and 3 ticks") !=
          std::string::npos);
}

TEST_CASE("ops: a sum is causal when both sides are") {
    const Graph graph = graph_of("%a = input \"a\" features : f32[4] @1/1\n%b = input \"b\" features : "
                                 "f32[4] @1/1 noncausal\n%y = add(%a, %b)\n%z = "
                                 "add(%b, %a)\noutput \"y\" %y\noutput \"z\" %z");
    CHECK_FALSE(graph.type(2).causal);
    CHECK_FALSE(graph.type(3).causal);
}

} // namespace errors_test
