#include "tools/cli/remote/remote_model.h"
#include "tools/runner/wire.h"
#include <deque>

namespace longwave::cli {

struct RemoteDescription {
    std::deque<std::string> texts; // whose addresses stay
    std::deque<std::vector<uint32_t>> dims;

    const char *keep(std::string text) {
        texts.push_back(std::move(text));
        return texts.back().c_str();
    }
};

namespace {

Status malformed() {
    return Status::device("longwave-runner: its answer is not understood; build it and this program from one version");
}

void read_outputs(Message &in, RemoteDescription &kept, std::vector<lw_output_info> &outputs) {
    for (uint32_t n = in.take<uint32_t>(); n > 0 && !in.failed(); n--) {
        lw_output_info output = {};
        output.struct_size = sizeof output;
        output.name = kept.keep(in.text());
        output.width = in.take<uint32_t>();
        output.clock_num = in.take<uint32_t>();
        output.clock_den = in.take<uint32_t>();
        output.delay = in.take<uint32_t>();
        outputs.push_back(output);
    }
}

void read_entries(Message &in, std::vector<lw_stream_entry_info> &entries) {
    for (uint32_t n = in.take<uint32_t>(); n > 0 && !in.failed(); n--) {
        lw_stream_entry_info entry = {};
        entry.struct_size = sizeof entry;
        entry.block = in.take<uint32_t>();
        entry.delay = in.take<uint32_t>();
        entry.period = in.take<uint32_t>();
        entry.calls = in.take<uint64_t>();
        entry.cache_bytes = in.take<uint64_t>();
        entry.moved_bytes = in.take<uint64_t>();
        entry.rebuild_calls = in.take<uint64_t>();
        entries.push_back(entry);
    }
}

void read_fields(Message &in, RemoteDescription &kept, std::vector<lw_state_field> &fields) {
    for (uint32_t n = in.take<uint32_t>(); n > 0 && !in.failed(); n--) {
        lw_state_field field = {};
        field.struct_size = sizeof field;
        field.layer = kept.keep(in.text());
        field.name = kept.keep(in.text());
        field.kind = static_cast<lw_state_kind>(in.take<uint32_t>());
        field.elem = static_cast<lw_state_elem>(in.take<uint32_t>());
        field.bytes = in.take<uint64_t>();
        std::vector<uint32_t> dims;
        for (uint32_t d = in.take<uint32_t>(); d > 0 && !in.failed(); d--) dims.push_back(in.take<uint32_t>());
        kept.dims.push_back(std::move(dims));
        field.dims = kept.dims.back().data();
        field.n_dims = static_cast<uint32_t>(kept.dims.back().size());
        fields.push_back(field);
    }
}

// In the order of wire.h.
void read_description(Message &in, RemoteDescription &kept, Model &model) {
    lw_model_info &info = model.info;
    info.struct_size = sizeof info;
    info.name = kept.keep(in.text());
    info.producer = kept.keep(in.text());
    info.variant = kept.keep(in.text());
    info.report = kept.keep(in.text());
    info.has_run = static_cast<int>(in.take<uint32_t>());
    info.has_stream = static_cast<int>(in.take<uint32_t>());
    info.run_capacity = in.take<uint32_t>();
    info.stream_block = in.take<uint32_t>();
    info.stream_delay = in.take<uint32_t>();
    info.error_limit = in.take<float>();
    info.stream_state_bytes = in.take<uint64_t>();
    info.stream_memory_bytes = in.take<uint64_t>();
    info.run_memory_bytes = in.take<uint64_t>();
    info.memory_bytes = in.take<uint64_t>();
    info.artifact_bytes = in.take<uint64_t>();
    info.inputs = in.take<uint32_t>();
    for (uint32_t i = 0; i < info.inputs && !in.failed(); i++) {
        lw_input_info input = {};
        input.struct_size = sizeof input;
        input.name = kept.keep(in.text());
        input.kind = static_cast<lw_input_kind>(in.take<uint32_t>());
        input.width = in.take<uint32_t>();
        input.sample_rate = in.take<uint32_t>();
        input.vocabulary = in.take<uint32_t>();
        model.inputs.push_back(input);
    }
    read_outputs(in, kept, model.run_outputs);
    read_outputs(in, kept, model.stream_outputs);
    info.run_outputs = static_cast<uint32_t>(model.run_outputs.size());
    info.stream_outputs = static_cast<uint32_t>(model.stream_outputs.size());
    for (uint32_t n = info.labels = in.take<uint32_t>(); n > 0 && !in.failed(); n--) model.labels.push_back(in.text());
    read_entries(in, model.entries);
    read_fields(in, kept, model.state_fields);
    info.stream_entries = static_cast<uint32_t>(model.entries.size());
    info.state_fields = static_cast<uint32_t>(model.state_fields.size());
}

Status hand_out(Message in, const OnRow &row) {
    while (!in.at_end()) {
        const uint32_t index = in.take<uint32_t>(), width = in.take<uint32_t>();
        const uint64_t number = in.take<uint64_t>();
        const std::vector<float> values = in.floats(width);
        if (!in.failed()) row({index, width, number, values.data()});
    }
    return in.failed() ? malformed() : Status();
}

} // namespace

Status open_remotely(const std::vector<uint8_t> &artifact, const std::string &variant,
                     std::shared_ptr<Remote> remote, Model &model) {
    LW_ASSIGN(Message in, remote->ask(wire_open, nullptr,
                                      Request().put_text(variant).put_bytes(artifact.data(), artifact.size()),
                                      variant.empty() ? "the compiled model" : "the compiled model on " + variant));
    auto kept = std::make_shared<RemoteDescription>();
    if (in.take<uint32_t>() != wire_version) return malformed();
    read_description(in, *kept, model);
    if (in.failed()) return malformed();
    model.remote = std::make_shared<RemoteModel>(RemoteModel{std::move(remote), std::move(kept)});
    return {};
}

Expected<std::shared_ptr<RemoteStream>> RemoteStream::create(const Model &model, const lw_stream_options &options,
                                                             size_t tick_bytes) {
    std::shared_ptr<RemoteStream> stream(new RemoteStream(nullptr, tick_bytes));
    LW_TRY(model.remote->remote
               ->ask(wire_stream, &stream->which_,
                     Request().put(options.block).put(static_cast<uint32_t>(options.format)), "stream")
               .status());
    stream->remote_ = model.remote->remote;
    return stream;
}

RemoteStream::~RemoteStream() {
    if (remote_) (void)ask(wire_close, {}, "close");
}

Expected<Message> RemoteStream::ask(uint32_t what, const Request &request, const std::string &doing) {
    uint32_t which = which_;
    return remote_->ask(what, &which, request, doing);
}

Status RemoteStream::push(const void *samples, size_t n, const OnRow &row) {
    LW_ASSIGN(Message rows, ask(wire_push, Request().put(uint64_t{n}).put_bytes(samples, n * tick_bytes_), "push"));
    return hand_out(std::move(rows), row);
}
Status RemoteStream::finish(const OnRow &row) {
    LW_ASSIGN(Message rows, ask(wire_finish, {}, "finish"));
    return hand_out(std::move(rows), row);
}
Status RemoteStream::reset() { return ask(wire_reset, {}, "reset").status(); }
Status RemoteStream::prefill(const void *samples, size_t n) {
    return ask(wire_prefill, Request().put(uint64_t{n}).put_bytes(samples, n * tick_bytes_), "prefill").status();
}
Expected<std::vector<uint8_t>> RemoteStream::save() {
    LW_ASSIGN(const Message state, ask(wire_save, {}, "save"));
    return state.bytes();
}
Status RemoteStream::load(const std::vector<uint8_t> &state) {
    return ask(wire_load, Request().put_bytes(state.data(), state.size()), "load").status();
}
Status RemoteStream::copy_from(const RemoteStream &other) {
    return ask(wire_copy, Request().put(other.which_), "copy").status();
}

Expected<std::vector<std::vector<float>>> run_remotely(const Model &model, const Sequence &in) {
    Request request;
    for (size_t i = 0; i < model.inputs.size(); i++) {
        const bool tokens = model.inputs[i].kind == LW_INPUT_TOKENS;
        const size_t bytes = in.rows * 4 * (tokens ? 1 : size_t{model.inputs[i].width});
        request.put(uint64_t{in.rows}).put(uint64_t{in.lengths.empty() ? 0 : in.lengths[i]}).put(uint64_t{bytes});
        request.put_bytes(in.data(i), bytes);
    }
    LW_ASSIGN(Message reply, model.remote->remote->ask(wire_run, nullptr, request, "run"));
    std::vector<std::vector<float>> results;
    for (const lw_output_info &output : model.run_outputs) results.push_back(reply.floats(reply.take<uint64_t>() * output.width));
    if (reply.failed()) return malformed();
    return results;
}

Status verify_remotely(const Model &model, double *worst) {
    LW_ASSIGN(Message reply,
              model.remote->remote->ask(wire_verify, nullptr, {}, "golden vectors on " + std::string(model.info.variant)));
    *worst = reply.take<double>();
    return reply.failed() ? malformed() : Status();
}

} // namespace longwave::cli
