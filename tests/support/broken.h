// Making sound artifacts unsound, one field at a time.
#pragma once
#include "formats/artifact/verify.h"
#include "tests/support/tiny_model.h"
#include <functional>

namespace longwave::test {

// Rules V1-V20 on a 64-aligned copy, for this host.
artifact::Broken check(const std::vector<uint8_t> &bytes, uint64_t memory_limit = 0);

// Changes what only the finished file holds (segments, ABI hashes …) and renews the root hash. The
// plan must keep its size.
std::vector<uint8_t> rewrite(const std::vector<uint8_t> &bytes, const std::function<void(fb::PlanT &)> &edit);

// Changes bytes and renews the root hash.
std::vector<uint8_t> patch(std::vector<uint8_t> bytes, size_t at, const std::vector<uint8_t> &with,
                           bool renew = true);

} // namespace longwave::test
