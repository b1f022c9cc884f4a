// A model that is open in a longwave-runner: its streams and runs.
#pragma once
#include "tools/cli/model/model.h"
#include "tools/cli/remote/remote.h"

namespace longwave::cli {

struct DescribedModel; // what the Model points to

struct RemoteModel {
    std::shared_ptr<Remote> remote;
    std::shared_ptr<const DescribedModel> description;
    ReplySizes sizes;
};

// Opens the artifact there. The artifact, not the runner, says what Model tells of it. `variant`: of
// the artifact. `sent`: what the runner gets in place of the artifact; null: the artifact.
Status open_remotely(const std::vector<uint8_t> &artifact, const std::string &variant,
                     std::shared_ptr<Remote> remote, const std::vector<uint8_t> *sent, Model &model);

// A stream there. It is closed with the last copy of the handle.
class RemoteStream {
public:
    static Expected<std::shared_ptr<RemoteStream>>
    create(const Model &model, const lw_stream_options &options, size_t tick_bytes);
    ~RemoteStream();
    RemoteStream(const RemoteStream &) = delete;
    RemoteStream &operator=(const RemoteStream &) = delete;

    Status push(const void *samples, size_t n, const OnRow &row);
    Status finish(const OnRow &row);
    Status reset();
    Status prefill(const void *samples, size_t n);
    Expected<std::vector<uint8_t>> save();
    Status load(const std::vector<uint8_t> &state);
    Status copy_from(const RemoteStream &other);

private:
    RemoteStream(std::shared_ptr<const RemoteModel> model, uint32_t which, size_t tick_bytes)
        : model_(std::move(model)), tick_bytes_(tick_bytes), which_(which) {}
    Expected<Message> ask(uint32_t what, const Request &request, const std::string &doing, uint64_t most = 0);
    Status tell(uint32_t what, const Request &request, const std::string &doing);
    std::shared_ptr<const RemoteModel> model_;
    size_t tick_bytes_;
    uint32_t which_;
};

Expected<std::vector<std::vector<float>>> run_remotely(const Model &model, const Sequence &in);
Status verify_remotely(const Model &model, double *worst);

} // namespace longwave::cli
