// What `compile` checks before it writes a file: golden vectors and streams on every target that
// runs here.
#pragma once
#include "formats/artifact/write.h"
#include "formats/base/expected.h"
#include "tools/cli/check/streaming_check.h"
#include "tools/cli/model/model.h"
#include "tools/cli/process/interruption.h"
#include "tools/cli/remote/process_channel.h"
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace longwave::cli {

// The entry-switching check: several stream entries advance one state, tested on this machine
// through the runtime. A random test switches between entries, with pushes of any size, prefills,
// saved and loaded states, copies and resets. Its rows must equal the offline run, and repeating it
// must give the same bits. Tests also switch between code variants: a state that one saves loads
// into the others.

struct EntryCheck {
    std::string variants; // "x86-64-v2, x86-64-v4"
    unsigned walks = 0;
    uint64_t moves = 0, switches = 0; // totals; switches: changes to another entry
    uint64_t rows = 0;                // compared with the offline run
    double largest_error = 0;         // relative to the largest value of the output
    double limit = 0;
    bool compared = false; // false: the model has no offline run
    bool same_bits = true; // in every repeated test
    bool holds() const { return same_bits && largest_error <= limit; }
};

// `models`: the variants of one compiled model that this machine can run. Each test has the length
// of an offline run.
Expected<EntryCheck> check_entries(const std::vector<Model> &models, unsigned walks);
nlohmann::ordered_json to_json(const EntryCheck &walk);
std::string to_text(const EntryCheck &walk);

struct ArtifactCheck {
    std::vector<StreamCheck> streams;
    std::vector<EntryCheck> walks;
    std::vector<std::string> elsewhere; // targets that this machine cannot run, nor an emulator
    std::vector<std::pair<std::string, double>> golden; // on emulators: target, largest error by its limit
    bool hold() const;
};

// `open` opens the artifact for a target: in this process, or under its emulator. `report`: the
// compile report, which names the targets. States pass between all targets that run, also when the
// model has one stream entry. Errors (Fault::check): a golden vector does not hold.
using OpenForTarget = std::function<Expected<Model>(const std::string &target)>;
Expected<ArtifactCheck> check_artifact(const OpenForTarget &open, const nlohmann::ordered_json &report,
                                       unsigned walks, const Emulators &emulators = {});
Expected<ArtifactCheck> check_artifact(const std::vector<uint8_t> &artifact,
                                       const nlohmann::ordered_json &report, unsigned walks);

// A compiled artifact that is not yet in its place, because it is still to be checked.

// A large one waits in a file beside its place, where it is mapped for the check: memory holds its
// weights once. It goes when it is not written, also by a signal. A small one waits in memory.
class UnwrittenArtifact {
public:
    // `bytes_needed`: it stays in memory, whatever its size.
    static Expected<UnwrittenArtifact> of(artifact::Pieces pieces, const std::string &path,
                                          bool bytes_needed);
    UnwrittenArtifact(UnwrittenArtifact &&) = default;
    UnwrittenArtifact &operator=(UnwrittenArtifact &&) = delete;
    ~UnwrittenArtifact();

    uint64_t size() const { return size_; }
    // `remote`: opens it there, in place of this process; null: here.
    Expected<Model> open(const std::string &variant, std::shared_ptr<Remote> remote = nullptr) const;
    // The bytes of one that stays in memory.
    std::vector<uint8_t> &bytes() { return bytes_; }
    Status write() &&; // to the path; "-" is the standard output

private:
    UnwrittenArtifact() = default;
    std::string path_;
    uint64_t size_ = 0;
    std::vector<uint8_t> bytes_;
    std::optional<artifact::StagedFile> file_;
    std::unique_ptr<const Interruptible> leaves_no_file_;
};

} // namespace longwave::cli
