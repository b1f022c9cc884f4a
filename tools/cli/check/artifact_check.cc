#include "tools/cli/check/artifact_check.h"
#include "compiler/base/process_cleanup.h"
#include "formats/package/file_bytes.h"
#include "targets/target.h"
#include "tools/cli/audio/samples.h"
#include "tools/cli/check/streaming_check.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/model/model.h"
#include "tools/cli/output/text.h"
#include "tools/kernels/kernel_call.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>

namespace longwave::cli {

bool ArtifactCheck::hold() const {
    return std::all_of(streams.begin(), streams.end(), [](const StreamCheck &c) { return c.holds(); }) &&
           std::all_of(walks.begin(), walks.end(), [](const EntryCheck &w) { return w.holds(); });
}

Expected<ArtifactCheck> check_artifact(const std::vector<uint8_t> &artifact,
                                       const nlohmann::ordered_json &report, unsigned walks) {
    return check_artifact([&](const std::string &target) { return Model::open(artifact, target); }, report,
                          walks);
}

Expected<ArtifactCheck> check_artifact(const OpenForTarget &open, const nlohmann::ordered_json &report,
                                       unsigned walks, const Emulators &emulators) {
    ArtifactCheck result;
    std::vector<Model> models;
    bool foreign = false;
    if (!report.contains("targets")) return result;
    for (const auto &target : report["targets"]) {
        const std::string name = target["name"];
        const targets::Target *cpu = targets::find(name);
        const bool here = !cpu || kernels::host_runs(*cpu);
        if (!here && !emulators.contains(name)) {
            result.elsewhere.push_back(name);
            continue;
        }
        auto model = open(name);
        // Also where memory is short: what is not checked must not be written.
        if (!model) return model.status();
        double worst = 0;
        LW_TRY(model->verify(&worst));
        if (!here) result.golden.emplace_back(name, worst);
        foreign |= !here;
        if (!model->info.has_stream) continue;
        for (uint32_t entry = 0; entry < model->info.stream_entries; entry++) {
            LW_ASSIGN(StreamCheck stream, check_stream(*model, here ? 20 : 4, entry));
            result.streams.push_back(std::move(stream));
        }
        models.push_back(*std::move(model)); // their entries are tested together
    }
    if (!models.empty() && (models[0].info.stream_entries > 1 || (foreign && models.size() > 1))) {
        LW_ASSIGN(EntryCheck walk, check_entries(models, walks));
        result.walks.push_back(std::move(walk));
    }
    return result;
}

namespace {

using Rows = std::vector<std::vector<float>>; // by output, all rows in order

// The offline run that the rows of a test are compared with.
struct Reference {
    const std::vector<Model> &models;
    const Sequence &in;
    size_t ticks;
    Rows offline;              // by output of a run
    std::vector<double> peaks; // of each output

    const Model &model() const { return models[0]; } // the models have the same inputs and outputs
};

// One random test: two streams per entry, one of which is active.
class Walker {
public:
    Walker(const Reference &reference, EntryCheck &walk, uint64_t seed)
        : reference_(reference), walk_(walk), random_(seed) {}

    Status run() {
        for (const Model &model : reference_.models)
            for (uint32_t stream = 0; stream < 2 * model.info.stream_entries; stream++) {
                LW_ASSIGN(Stream made, Stream::create(model, LW_F32, stream / 2));
                streams_.push_back(std::move(made));
            }
        while (at_ < reference_.ticks) LW_TRY(move());
        LW_TRY(streams_[current_].finish(keep()));
        return compare_last();
    }
    const std::vector<float> &trace() const { return trace_; } // every output value

private:
    size_t some_ticks() {
        const size_t longest[] = {4, 64, 700, reference_.ticks};
        return std::min<size_t>(1 + random_.below(longest[random_.below(4)]), reference_.ticks - at_);
    }
    const void *input() const {
        const lw_input_info &info = reference_.model().inputs[0];
        return static_cast<const uint8_t *>(reference_.in.data(0)) +
               at_ * 4 * (info.kind == LW_INPUT_TOKENS ? 1 : info.width);
    }

    Status move() {
        walk_.moves++;
        const uint64_t kind = random_.below(12);
        if (kind < 6) return push();
        if (kind < 8) return prefill();
        if (kind < 11) return change();
        if (random_.below(4) != 0) return {};
        at_ = 0; // start again
        return streams_[current_].reset();
    }
    Status push() {
        const size_t n = some_ticks();
        LW_TRY(streams_[current_].push(input(), n, keep()));
        at_ += n;
        return {};
    }
    Status prefill() {
        const size_t n = some_ticks();
        LW_TRY(streams_[current_].prefill(input(), n));
        at_ += n;
        return {};
    }
    // To the other stream of this entry by a copy, or to a stream of any entry by a saved state.
    Status change() {
        const Stream &from = streams_[current_];
        if (random_.below(3) == 0) {
            current_ ^= 1;
            return streams_[current_].copy_from(from);
        }
        LW_ASSIGN(const std::vector<uint8_t> saved, from.save());
        const size_t before = current_;
        current_ = random_.below(streams_.size());
        walk_.switches += current_ / 2 != before / 2;
        return streams_[current_].load(saved);
    }

    // Row r of the stream is row r of the offline run.
    OnRow keep() {
        return [this](const StreamRow &row) {
            trace_.insert(trace_.end(), row.data, row.data + row.width);
            last_.resize(std::max<size_t>(last_.size(), row.index + 1));
            last_[row.index].assign(row.data, row.data + row.width);
            for (size_t i = 0; i < reference_.model().run_outputs.size(); i++) {
                const lw_output_info &output = reference_.model().run_outputs[i];
                if (output.clock_num == 0 ||
                    reference_.model().stream_output(output.name) != static_cast<int>(row.index))
                    continue;
                if (row.row < reference_.offline[i].size() / output.width) compare(i, row.row, row.data);
            }
        };
    }
    // An offline output without a time axis is the stream's last row.
    Status compare_last() {
        for (size_t i = 0; i < reference_.model().run_outputs.size(); i++) {
            const lw_output_info &output = reference_.model().run_outputs[i];
            const int j = reference_.model().stream_output(output.name);
            if (output.clock_num != 0 || j < 0 || reference_.offline[i].empty()) continue;
            if (static_cast<size_t>(j) >= last_.size() || last_[static_cast<size_t>(j)].empty())
                return Status::check(std::string("output ") + output.name +
                                     ": the stream has no row to compare");
            compare(i, 0, last_[static_cast<size_t>(j)].data());
        }
        return {};
    }
    void compare(size_t output, uint64_t row, const float *values) {
        const size_t width = reference_.model().run_outputs[output].width;
        const float *expected = reference_.offline[output].data() + row * width;
        double error = 0;
        for (size_t k = 0; k < width; k++) {
            const double difference = std::fabs(static_cast<double>(values[k]) - expected[k]);
            error = std::isfinite(difference) ? std::max(error, difference) : INFINITY;
        }
        const double peak = reference_.peaks[output];
        walk_.largest_error = std::max(walk_.largest_error, peak > 0 ? error / peak : error);
        walk_.compared = true;
        walk_.rows++;
    }

    const Reference &reference_;
    EntryCheck &walk_;
    Random random_;
    std::vector<Stream> streams_; // two of each entry of each variant
    size_t current_ = 0, at_ = 0;
    std::vector<float> trace_;
    Rows last_; // by stream output
};

// A stream of windows equals runs over its windows, and not one run over the sequence. Outputs
// without a time axis have one row per hop, which no row of a run stands for: their rows stay empty.
Expected<Rows> windows_by_run_output(const Model &model, const Sequence &in, size_t ticks) {
    LW_ASSIGN(Rows windows, rows_of_windows(model, in, ticks));
    Rows rows(model.run_outputs.size());
    for (size_t i = 0; i < rows.size(); i++)
        if (const int j = model.stream_output(model.run_outputs[i].name);
            j >= 0 && model.run_outputs[i].clock_num != 0)
            rows[i] = std::move(windows[static_cast<size_t>(j)]);
    return rows;
}

bool same(const std::vector<float> &a, const std::vector<float> &b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

} // namespace

Expected<EntryCheck> check_entries(const std::vector<Model> &models, unsigned walks) {
    EntryCheck walk;
    walk.limit = stream_limit(models.at(0));
    for (const Model &model : models)
        walk.variants += (walk.variants.empty() ? "" : ", ") + std::string(model.info.variant);
    const lw_model_info &info = models.at(0).info;
    const size_t ticks = info.has_run ? info.run_capacity
                                      : std::max(100 * size_t{info.stream_block}, ticks_of_lags(models[0]));
    const Sequence in = made_up(models[0], ticks, 7);
    Reference reference{models, in, ticks, Rows(models[0].run_outputs.size()), {}};
    if (window_of(models[0])) {
        LW_ASSIGN(reference.offline, windows_by_run_output(models[0], in, ticks));
    } else if (info.has_run) {
        LW_ASSIGN(Runner runner, Runner::create(models[0]));
        LW_ASSIGN(reference.offline, runner.run(in));
    }
    for (const auto &rows : reference.offline) {
        double peak = 0;
        for (float value : rows) peak = std::max<double>(peak, std::fabs(value));
        reference.peaks.push_back(peak);
    }
    for (; walk.walks < walks; walk.walks++) {
        Walker first(reference, walk, 100 + walk.walks);
        LW_TRY(first.run());
        if (walk.walks % 4 != 0) continue; // the first and every fourth are repeated
        EntryCheck ignored;
        Walker again(reference, ignored, 100 + walk.walks);
        LW_TRY(again.run());
        if (!same(first.trace(), again.trace())) walk.same_bits = false;
    }
    return walk;
}

nlohmann::ordered_json to_json(const EntryCheck &walk) {
    nlohmann::ordered_json json = {{"variants", walk.variants},
                                   {"holds", walk.holds()},
                                   {"walks", walk.walks},
                                   {"switches", walk.switches}};
    if (walk.compared)
        json.update({{"rows", walk.rows}, {"largest_error", walk.largest_error}, {"limit", walk.limit}});
    json["same_bits"] = walk.same_bits;
    return json;
}

std::string to_text(const EntryCheck &walk) {
    const auto rows = static_cast<unsigned long long>(walk.rows),
               switches = static_cast<unsigned long long>(walk.switches);
    std::string text = format("%u random tests with %llu switches of entry", walk.walks, switches);
    if (walk.compared)
        text += format(", equal to the offline run within %.1e over %llu rows (limit %.2g)",
                       walk.largest_error, rows, walk.limit);
    text += walk.same_bits ? ", bit-identical when repeated" : ", NOT bit-identical when repeated";
    if (!walk.holds()) text += " -- FAILED";
    return text;
}

namespace {

constexpr uint64_t large = uint64_t{64} << 20; // bytes

bool is_file_or_new(const std::string &path) {
    struct stat info;
    return stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode);
}

} // namespace

Expected<UnwrittenArtifact> UnwrittenArtifact::of(artifact::Pieces pieces, const std::string &path,
                                                  bool bytes_needed) {
    UnwrittenArtifact made;
    made.path_ = path;
    made.size_ = pieces.size();
    if (bytes_needed || made.size_ < large || path == "-" || !is_file_or_new(path)) {
        made.bytes_ = std::move(pieces).join();
        return made;
    }
    made.leaves_no_file_ = std::make_unique<const Interruptible>();
    LW_ASSIGN(artifact::StagedFile staged, artifact::StagedFile::write(path, std::move(pieces)));
    made.file_.emplace(std::move(staged));
    compiler::unfinished::make_folder([&] { return made.file_->path(); });
    return made;
}

UnwrittenArtifact::~UnwrittenArtifact() {
    if (file_ && !file_->path().empty()) compiler::unfinished::remove_folder(file_->path());
}

Expected<Model> UnwrittenArtifact::open(const std::string &variant, std::shared_ptr<Remote> remote) const {
    if (remote && file_) {
        LW_ASSIGN(const std::vector<uint8_t> bytes, package::read_file(file_->path(), size_));
        return Model::open(bytes, variant, std::move(remote));
    }
    if (remote) return Model::open(bytes_, variant, std::move(remote));
    return file_ ? Model::open_mapped(file_->path(), variant) : Model::open(bytes_, variant);
}

Status UnwrittenArtifact::write() && {
    if (file_) {
        const Uninterrupted whole;
        const std::string waited = file_->path();
        const Status done = std::move(*file_).put_in_place();
        compiler::unfinished::remove_folder(waited);
        return done;
    }
    if (path_ != "-") return write_output(path_, bytes_);
    if (std::fwrite(bytes_.data(), 1, bytes_.size(), stdout) != bytes_.size())
        return Status::device("standard output cannot be written");
    return {};
}

} // namespace longwave::cli
