// A graph that the tests of plans share.
#pragma once

namespace longwave::compiler {

// 16 channels at the input's rate, a causal convolution of 8 taps, an activation.
inline const char *const small = R"(graph "small"
%0 = input "x" features : f32[16] @1/1
%1 = const "k" : [1,16,8]
%2 = const "D" : [1,16]
%3 = long_conv(%0, %1, %2) {channels=1, two_sided=0} ; layer conv
%4 = gelu(%3) ; layer act
output "y" %4
)";

} // namespace longwave::compiler
