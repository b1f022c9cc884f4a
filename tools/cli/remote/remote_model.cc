#include "tools/cli/remote/remote_model.h"
#include "tools/cli/remote/described_model.h"
#include "tools/runner/wire.h"

namespace longwave::cli {

Status open_remotely(const std::vector<uint8_t> &artifact, const std::string &variant,
                     std::shared_ptr<Remote> remote, const std::vector<uint8_t> *sent, Model &model) {
    auto opened = std::make_shared<RemoteModel>();
    LW_ASSIGN(opened->description, DescribedModel::of(artifact, variant, model));
    opened->sizes = opened->description->reply_sizes(model);
    if (!sent) sent = &artifact;
    const Request request = Request().put_text(variant).put_bytes(sent->data(), sent->size());
    LW_ASSIGN(
        Message in,
        remote->ask(
            {.what = wire_open, .request = request, .doing = "the compiled model on " + variant, .most = 4}));
    LW_TRY(read_version(std::move(in)));
    opened->remote = std::move(remote);
    model.remote = std::move(opened);
    return {};
}

Expected<std::shared_ptr<RemoteStream>>
RemoteStream::create(const Model &model, const lw_stream_options &options, size_t tick_bytes) {
    const Request request = Request().put(options.block).put(static_cast<uint32_t>(options.format));
    uint32_t which = 0;
    LW_ASSIGN(const Message in, model.remote->remote->ask(
                                    {.what = wire_stream, .request = request, .doing = "stream"}, &which));
    LW_TRY(read_nothing(in));
    return std::shared_ptr<RemoteStream>(new RemoteStream(model.remote, which, tick_bytes));
}

RemoteStream::~RemoteStream() { (void)ask(wire_close, {}, "close"); }

Expected<Message> RemoteStream::ask(uint32_t what, const Request &request, const std::string &doing,
                                    uint64_t most) {
    return model_->remote->ask(
        {.what = what, .which = which_, .request = request, .doing = doing, .most = most});
}

Status RemoteStream::tell(uint32_t what, const Request &request, const std::string &doing) {
    LW_ASSIGN(const Message in, ask(what, request, doing));
    return read_nothing(in);
}

Status RemoteStream::push(const void *samples, size_t n, const OnRow &row) {
    const Request request = Request().put(uint64_t{n}).put_bytes(samples, n * tick_bytes_);
    LW_ASSIGN(Message rows, ask(wire_push, request, "push", model_->sizes.rows(n)));
    return read_rows(std::move(rows), model_->sizes, row);
}
Status RemoteStream::finish(const OnRow &row) {
    LW_ASSIGN(Message rows, ask(wire_finish, {}, "finish", model_->sizes.rows(0)));
    return read_rows(std::move(rows), model_->sizes, row);
}
Status RemoteStream::reset() { return tell(wire_reset, {}, "reset"); }
Status RemoteStream::prefill(const void *samples, size_t n) {
    return tell(wire_prefill, Request().put(uint64_t{n}).put_bytes(samples, n * tick_bytes_), "prefill");
}
Expected<std::vector<uint8_t>> RemoteStream::save() {
    LW_ASSIGN(const Message state, ask(wire_save, {}, "save", model_->sizes.state_bytes));
    return state.bytes();
}
Status RemoteStream::load(const std::vector<uint8_t> &state) {
    return tell(wire_load, Request().put_bytes(state.data(), state.size()), "load");
}
Status RemoteStream::copy_from(const RemoteStream &other) {
    return tell(wire_copy, Request().put(other.which_), "copy");
}

Expected<std::vector<std::vector<float>>> run_remotely(const Model &model, const Sequence &in) {
    Request request;
    for (size_t i = 0; i < model.inputs.size(); i++) {
        const bool tokens = model.inputs[i].kind == LW_INPUT_TOKENS;
        const size_t bytes = in.rows * 4 * (tokens ? 1 : size_t{model.inputs[i].width});
        request.put(uint64_t{in.rows})
            .put(uint64_t{in.lengths.empty() ? 0 : in.lengths[i]})
            .put(uint64_t{bytes});
        request.put_bytes(in.data(i), bytes);
    }
    const ReplySizes &sizes = model.remote->sizes;
    LW_ASSIGN(Message reply,
              model.remote->remote->ask(
                  {.what = wire_run, .request = request, .doing = "run", .most = sizes.run(in.rows)}));
    return read_run(std::move(reply), sizes, in.rows);
}

Status verify_remotely(const Model &model, double *worst) {
    LW_ASSIGN(Message reply,
              model.remote->remote->ask({.what = wire_verify,
                                         .request = {},
                                         .doing = "golden vectors on " + std::string(model.info.variant),
                                         .most = 8}));
    LW_ASSIGN(*worst, read_verdict(std::move(reply)));
    return {};
}

} // namespace longwave::cli
