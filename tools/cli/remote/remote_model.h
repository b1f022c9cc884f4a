// A model that is open in a longwave-runner: its description, and its streams and runs.
#pragma once
#include "tools/cli/model/model.h"
#include "tools/cli/model/runner.h"
#include "tools/cli/model/stream.h"
#include "tools/cli/remote/remote.h"

namespace longwave::cli {

// Whatever the description of a model points to.
struct RemoteDescription;

struct RemoteModel {
    std::shared_ptr<Remote> remote;
    std::shared_ptr<const RemoteDescription> description;
};

// Opens the artifact there and fills in what Model says of it. `variant` empty: the best for that
// machine.
Status open_remotely(const std::vector<uint8_t> &artifact, const std::string &variant,
                     std::shared_ptr<Remote> remote, Model &model);

// A stream there. It is closed with the last copy of the handle.
class RemoteStream {
public:
    static Expected<std::shared_ptr<RemoteStream>> create(const Model &model, const lw_stream_options &options,
                                                          size_t tick_bytes);
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
    RemoteStream(std::shared_ptr<Remote> remote, size_t tick_bytes)
        : remote_(std::move(remote)), tick_bytes_(tick_bytes) {}
    Expected<Message> ask(uint32_t what, const Request &request, const std::string &doing);
    std::shared_ptr<Remote> remote_;
    size_t tick_bytes_;
    uint32_t which_ = 0;
};

Expected<std::vector<std::vector<float>>> run_remotely(const Model &model, const Sequence &in);
Status verify_remotely(const Model &model, double *worst);

} // namespace longwave::cli
