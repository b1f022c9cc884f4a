#include "tools/cli/check/unwritten_artifact.h"
#include "compiler/base/process_cleanup.h"
#include "formats/package/file_bytes.h"
#include "tools/cli/files/output_file.h"
#include <cstdio>
#include <sys/stat.h>

namespace longwave::cli {
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
