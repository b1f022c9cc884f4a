// Writes artifacts. Used by the compiler only: this half may use the standard library.
#pragma once
#include "formats/artifact/plan_generated.h"
#include "formats/base/expected.h"
#include "formats/base/shared_array.h"
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace longwave::artifact {

// Some bytes of a segment, held once wherever they are.
struct SegmentPart {
    uint64_t offset = 0; // in the segment, at most 63 behind the end of the part before
    SharedArray<uint8_t> bytes;
};

// A segment, which is not empty: its bytes in one piece, or its parts in order.
struct SegmentData {
    fb::SegmentKind kind = fb::SegmentKind::weights;
    std::vector<uint8_t> bytes;
    std::vector<SegmentPart> parts = {};

    uint64_t size() const;
    std::vector<std::span<const uint8_t>> spans() const; // all of it, with zeros between the parts
};

// A finished artifact whose segments still lie where they were made: weights of gigabytes are held
// once, hashed where they lie and written from there.
struct Pieces {
    std::vector<uint8_t> front;        // header and plan, and zeros up to the first segment
    std::vector<SegmentData> segments; // in the order of the file

    uint64_t size() const;
    std::vector<std::span<const uint8_t>> spans() const; // the whole file, from its first byte to its last
    std::vector<uint8_t> join() &&; // in one piece; each part is given back once it is copied
    // Everything behind the front, in order. Each part is given back once `take` has taken it.
    // False as soon as `take` is.
    bool hand_over(const std::function<bool(std::span<const uint8_t>)> &take);
    uint64_t memory_needed() const; // to open the file: what V20 counts
};

// Header, plan, segments. Fills in what only the writer can know: plan.segments (in the order
// given: variants name them by index), the ABI hash of every kernel and the hash of the state's
// layout. Equal arguments give equal bytes. The result has passed every rule that does not depend
// on a machine; a plan that breaks one is a defect of the compiler and comes back as an internal
// failure naming rule, text and numbers.
Expected<Pieces> assemble(fb::PlanT plan, std::vector<SegmentData> segments);

// The same in one piece, for whoever opens it at once.
Expected<std::vector<uint8_t>> write(fb::PlanT plan, std::vector<SegmentData> segments);

// The same without the final check, for tests that need broken files.
Expected<std::vector<uint8_t>> write_unchecked(fb::PlanT plan, std::vector<SegmentData> segments);

// Signs a finished artifact in place: records the public key and the version of the model, renews
// the root hash and stores what `sign` makes of it (Ed25519, 64 bytes).
using Signer = std::function<bool(std::span<const uint8_t, 32> root, std::span<uint8_t, 64> signature)>;
Status sign(Pieces &pieces, std::span<const uint8_t, 32> public_key, const Signer &signer,
            uint64_t version = 0);
Status sign(std::vector<uint8_t> &bytes, std::span<const uint8_t, 32> public_key, const Signer &signer,
            uint64_t version = 0);

// `path` is the old file or the complete new one, whatever happens: temporary file in the same
// folder, write, fsync, rename, fsync of the folder. On any error the temporary file is removed and
// the Status names the path and the system's reason. A device or named pipe is written to instead
// of replaced; a symbolic link stays, and what it points to is replaced.
Status write_file_atomically(const std::string &path, std::span<const uint8_t> bytes);
Status write_pieces_atomically(const std::string &path, const Pieces &pieces);

// The same of bytes that come little by little: `make` writes them to the open file, or to the
// device or pipe. A file may be read and written anywhere. The file is put in place when `make`
// succeeds.
Status write_stream_atomically(const std::string &path,
                               const std::function<Status(int file, bool in_place)> &make);

// The same in two steps, for whoever checks the file before it takes its place. The file that is
// written lies beside `path`. It goes when it is not put in place.
class StagedFile {
public:
    // Gives every part of the pieces back as soon as it is written. `path` names no device and no
    // pipe.
    static Expected<StagedFile> write(const std::string &path, Pieces pieces);
    StagedFile(StagedFile &&other) noexcept;
    StagedFile &operator=(StagedFile &&) = delete;
    ~StagedFile();
    const std::string &path() const { return staged_; } // where the bytes are for now; empty: in their place
    Status put_in_place() &&;

private:
    StagedFile() = default;
    std::string staged_, file_; // staged_ is empty once there is nothing to remove
};

} // namespace longwave::artifact
