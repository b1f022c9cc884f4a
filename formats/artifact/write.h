// Writes artifacts. Used by the compiler only: this half may use the standard library.
#pragma once
#include "formats/artifact/plan_generated.h"
#include "formats/base/expected.h"
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace longwave::artifact {

struct SegmentData {
    fb::SegmentKind kind = fb::SegmentKind::weights;
    std::vector<uint8_t> bytes; // not empty
};

// The file's bytes: header, plan, segments. Fills in what only the writer can know: plan.segments (in the
// order given: variants name them by index) and the ABI hash of every kernel. Equal arguments give equal
// bytes. The result has passed rules V1-V16, V18 and V19; a plan that breaks one is a defect of the compiler
// and comes back as an internal failure naming rule, text and numbers.
Expected<std::vector<uint8_t>> write(fb::PlanT plan, const std::vector<SegmentData> &segments);

// The same without the final check, for tests that need broken files.
Expected<std::vector<uint8_t>> write_unchecked(fb::PlanT plan, const std::vector<SegmentData> &segments);

// Signs finished bytes in place: records the public key, renews the root hash and stores what `sign` makes of
// it (Ed25519, 64 bytes).
using Signer = std::function<bool(std::span<const uint8_t, 32> root, std::span<uint8_t, 64> signature)>;
Status sign(std::vector<uint8_t> &bytes, std::span<const uint8_t, 32> public_key, const Signer &signer);

// `path` is the old file or the complete new one, whatever happens: temporary file in the same folder, write,
// fsync, rename, fsync of the folder. On any error the temporary file is removed and the Status names the
// path and the system's reason. A device or named pipe is written to instead of replaced.
Status write_file_atomically(const std::string &path, std::span<const uint8_t> bytes);

} // namespace longwave::artifact
