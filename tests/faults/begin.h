// What preloaded.cc tells the kernel, and so a tracer, when main() begins: a prctl that nobody
// knows.
#pragma once

namespace longwave::test {

inline constexpr int program_begins = 0x6c770001;

} // namespace longwave::test
