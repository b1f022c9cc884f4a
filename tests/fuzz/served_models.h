// The models that a longwave-runner serves in fuzz targets, in place of tools/runner/loaded.c:
// their code is known. The bytes of the message choose one: an artifact opens itself when it is one
// of the list, and otherwise its first byte counts.
#pragma once
#include "tests/support/tiny_model.h"
#include <longwave/longwave.h>
extern "C" {
#include "tools/runner/runner.h"
}
#include <vector>

namespace longwave::fuzz {

const std::vector<std::vector<uint8_t>> &served_artifacts();

} // namespace longwave::fuzz
