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

// A finished artifact whose segments still lie where they were made: weights of gigabytes are held once,
// hashed where they lie and written from there.
struct Pieces {
    std::vector<uint8_t> front;        // header and plan, and zeros up to the first segment
    std::vector<SegmentData> segments; // in the order of the file

    uint64_t size() const;
    std::vector<std::span<const uint8_t>> spans() const; // the whole file, from its first byte to its last
    std::vector<uint8_t> join() &&; // in one piece; each segment is given back once it is copied
};

// Header, plan, segments. Fills in what only the writer can know: plan.segments (in the order given: variants
// name them by index), the ABI hash of every kernel and the hash of the state's layout. Equal arguments give
// equal bytes. The result has passed every rule that does not depend on a machine; a plan that breaks one is
// a defect of the compiler and comes back as an internal failure naming rule, text and numbers.
Expected<Pieces> assemble(fb::PlanT plan, std::vector<SegmentData> segments);

// The same in one piece, for whoever opens it at once.
Expected<std::vector<uint8_t>> write(fb::PlanT plan, std::vector<SegmentData> segments);

// The same without the final check, for tests that need broken files.
Expected<std::vector<uint8_t>> write_unchecked(fb::PlanT plan, std::vector<SegmentData> segments);

// Signs a finished artifact in place: records the public key and the version of the model, renews the root
// hash and stores what `sign` makes of it (Ed25519, 64 bytes).
using Signer = std::function<bool(std::span<const uint8_t, 32> root, std::span<uint8_t, 64> signature)>;
Status sign(Pieces &pieces, std::span<const uint8_t, 32> public_key, const Signer &signer,
            uint64_t version = 0);
Status sign(std::vector<uint8_t> &bytes, std::span<const uint8_t, 32> public_key, const Signer &signer,
            uint64_t version = 0);

// `path` is the old file or the complete new one, whatever happens: temporary file in the same folder, write,
// fsync, rename, fsync of the folder. On any error the temporary file is removed and the Status names the
// path and the system's reason. A device or named pipe is written to instead of replaced; a symbolic link
// stays, and what it points to is replaced.
Status write_file_atomically(const std::string &path, std::span<const uint8_t> bytes);
Status write_pieces_atomically(const std::string &path, const Pieces &pieces);

} // namespace longwave::artifact
