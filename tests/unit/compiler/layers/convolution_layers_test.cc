// What audio features and short convolutions become, as graph text.
#include "tests/unit/compiler/layers/lowered.h"

namespace convolution_layers_test {

using namespace longwave;
using namespace longwave::tests;

TEST_CASE("lower: log_mel becomes frames, spectrum, mel matrix, logarithm and normalisation") {
    becomes("audio 16000",
            R"([{"type": "log_mel", "name": "fe", "window": 4, "hop": 2, "n_fft": 8, "bands": 3}])",
            weights_of({{"fe.window", {4}}, {"fe.mel", {5, 3}}, {"fe.mean", {3}}, {"fe.scale", {3}}}),
            R"(
graph "tiny"
%0 = input "x" audio rate=16000 : f32[1] @1/1 causal
%1 = const "fe.window" : [4]
%2 = const "fe.scale" : [3]
%3 = frame(%0, %1) {hop=2, window=4} : f32[4] @1/2 causal   ; layer fe
%4 = power_spectrum(%3) {n_fft=8} : f32[5] @1/2 causal   ; layer fe
%5 = const "fe.mel.rows" : [3,5]
%6 = linear(%4, %5) {bias=0, weights="float32"} : f32[3] @1/2 causal   ; layer fe
%7 = log(%6) {offset=1e-05} : f32[3] @1/2 causal   ; layer fe
%8 = const "fe.mean.shift" : [3]
%9 = affine(%7, %2, %8) : f32[3] @1/2 causal   ; layer fe
output "y" %9
)");
}

TEST_CASE(
    "lower: conv2d keeps frequency and channel apart until flatten, and batch norms there count channels") {
    becomes("features 10",
            R"([{"type": "conv2d", "name": "a", "out_channels": 4, "kernel": [4, 5], "stride": [2, 2]},
             {"type": "batch_norm", "name": "bn"},
             {"type": "relu", "name": "r"},
             {"type": "conv2d", "name": "dw", "out_channels": 4, "kernel": [3, 3], "groups": 4, "bias": false},
             {"type": "flatten", "name": "f"},
             {"type": "linear", "name": "p", "out_features": 6, "bias": false},
             {"type": "batch_norm", "name": "n2"}])",
            weights_of({{"a.weight", {4, 1, 4, 5}},
                        {"a.bias", {4}},
                        {"bn.weight", {4}},
                        {"bn.bias", {4}},
                        {"bn.running_mean", {4}},
                        {"bn.running_var", {4}},
                        {"dw.weight", {4, 1, 3, 3}},
                        {"p.weight", {6, 20}},
                        {"n2.weight", {6}},
                        {"n2.bias", {6}},
                        {"n2.running_mean", {6}},
                        {"n2.running_var", {6}}}),
            R"(
graph "tiny"
%0 = input "x" features : f32[10] @1/1 causal
%1 = const "a.weight" : [4,1,4,5]
%2 = const "a.bias" : [4]
%3 = conv2d(%0, %1, %2) {bias=1, frequency=1, groups=1, stride_f=2, stride_t=2} : f32[5,4] @1/2 causal   ; layer a
%4 = const "bn.weight" : [4]
%5 = const "bn.bias" : [4]
%6 = const "bn.running_mean" : [4]
%7 = const "bn.running_var" : [4]
%8 = batch_norm(%3, %4, %5, %6, %7) {eps=1e-05} : f32[5,4] @1/2 causal   ; layer bn
%9 = relu(%8) : f32[5,4] @1/2 causal   ; layer r
%10 = const "dw.weight" : [4,1,3,3]
%11 = conv2d(%9, %10) {bias=0, frequency=1, groups=4, stride_f=1, stride_t=1} : f32[5,4] @1/2 causal   ; layer dw
%12 = const "p.weight" : [6,20]
%13 = linear(%11, %12) {bias=0} : f32[6] @1/2 causal   ; layer p
%14 = const "n2.weight" : [6]
%15 = const "n2.bias" : [6]
%16 = const "n2.running_mean" : [6]
%17 = const "n2.running_var" : [6]
%18 = batch_norm(%13, %14, %15, %16, %17) {eps=1e-05} : f32[6] @1/2 causal   ; layer n2
output "y" %18
)");
}

TEST_CASE("lower: a convolution after one that left a single frequency reads its channels, not frequencies") {
    becomes(
        "features 2",
        R"([{"type": "conv2d", "name": "a", "out_channels": 4, "kernel": [1, 1], "stride": [1, 2], "bias": false},
             {"type": "conv2d", "name": "b", "out_channels": 3, "kernel": [2, 1], "bias": false}])",
        weights_of({{"a.weight", {4, 1, 1, 1}}, {"b.weight", {3, 4, 2, 1}}}),
        R"(
graph "tiny"
%0 = input "x" features : f32[2] @1/1 causal
%1 = const "a.weight" : [4,1,1,1]
%2 = conv2d(%0, %1) {bias=0, frequency=1, groups=1, stride_f=2, stride_t=1} : f32[4] @1/1 causal   ; layer a
%3 = const "b.weight" : [3,4,2,1]
%4 = conv2d(%2, %3) {bias=0, frequency=0, groups=1, stride_f=1, stride_t=1} : f32[3] @1/1 causal   ; layer b
output "y" %4
)");
}

TEST_CASE("lower: conv1d is a convolution over one frequency") {
    becomes("features 6",
            R"([{"type": "conv1d", "name": "c", "out_channels": 6, "kernel": 3, "stride": 2, "groups": 6}])",
            weights_of({{"c.weight", {6, 1, 3}}, {"c.bias", {6}}}),
            R"(
graph "tiny"
%0 = input "x" features : f32[6] @1/1 causal
%1 = const "c.weight" : [6,1,3,1]
%2 = const "c.bias" : [6]
%3 = conv2d(%0, %1, %2) {bias=1, frequency=0, groups=6, stride_f=1, stride_t=2} : f32[6] @1/2 causal   ; layer c
output "y" %3
)");
}

TEST_CASE("lower: a dilated conv1d keeps its taps as they are") {
    becomes(
        "features 6",
        R"([{"type": "conv1d", "name": "c", "out_channels": 4, "kernel": 3, "dilation": 512, "bias": false}])",
        weights_of({{"c.weight", {4, 6, 3}}}),
        R"(
graph "tiny"
%0 = input "x" features : f32[6] @1/1 causal
%1 = const "c.weight" : [4,6,3,1]
%2 = conv2d(%0, %1) {bias=0, dilation=512, frequency=0, groups=1, stride_f=1, stride_t=1} : f32[4] @1/1 causal   ; layer c
output "y" %2
)");
}

TEST_CASE("lower: branches are summed in order, and a dilated kernel is spread") {
    becomes(
        "features 4",
        R"([{"type": "branches", "name": "b", "branches": [{"kind": "conv1d", "kernel": 3, "dilation": 2, "batch_norm": true}, {"kind": "identity"}, {"kind": "conv1d", "kernel": 5, "bias": false}, {"kind": "identity", "batch_norm": true}]}])",
        weights_of({{"b.0.conv.weight", {4, 1, 3}},
                    {"b.0.conv.bias", {4}},
                    {"b.0.bn.weight", {4}},
                    {"b.0.bn.bias", {4}},
                    {"b.0.bn.running_mean", {4}},
                    {"b.0.bn.running_var", {4}},
                    {"b.2.conv.weight", {4, 1, 5}},
                    {"b.3.bn.weight", {4}},
                    {"b.3.bn.bias", {4}},
                    {"b.3.bn.running_mean", {4}},
                    {"b.3.bn.running_var", {4}}}),
        R"(
graph "tiny"
%0 = input "x" features : f32[4] @1/1 causal
%1 = const "b.0.conv.weight.dilated" : [4,1,5,1]
%2 = const "b.0.conv.bias" : [4]
%3 = conv2d(%0, %1, %2) {bias=1, frequency=0, groups=4, stride_f=1, stride_t=1} : f32[4] @1/1 causal   ; layer b
%4 = const "b.0.bn.weight" : [4]
%5 = const "b.0.bn.bias" : [4]
%6 = const "b.0.bn.running_mean" : [4]
%7 = const "b.0.bn.running_var" : [4]
%8 = batch_norm(%3, %4, %5, %6, %7) {eps=1e-05} : f32[4] @1/1 causal   ; layer b
%9 = add(%8, %0) : f32[4] @1/1 causal   ; layer b
%10 = const "b.2.conv.weight" : [4,1,5,1]
%11 = conv2d(%0, %10) {bias=0, frequency=0, groups=4, stride_f=1, stride_t=1} : f32[4] @1/1 causal   ; layer b
%12 = add(%9, %11) : f32[4] @1/1 causal   ; layer b
%13 = const "b.3.bn.weight" : [4]
%14 = const "b.3.bn.bias" : [4]
%15 = const "b.3.bn.running_mean" : [4]
%16 = const "b.3.bn.running_var" : [4]
%17 = batch_norm(%0, %13, %14, %15, %16) {eps=1e-05} : f32[4] @1/1 causal   ; layer b
%18 = add(%12, %17) : f32[4] @1/1 causal   ; layer b
output "y" %18
)");
}

} // namespace convolution_layers_test
