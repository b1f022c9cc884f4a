#include "tools/cli/remote/remote_model.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/verify.h"
#include "runtime/model/plan_enums.h"
#include "tools/cli/model/model.h"
#include "tools/cli/remote/remote.h"
#include "tools/runner/wire.h"
#include <algorithm>
#include <cstdlib>
#include <deque>

namespace longwave::cli {

// What an artifact says of a model whose code this machine cannot run.

// What the pointers in Model::info, inputs and outputs lead to.
struct DescribedModel {
    // Checks the artifact and fills in `model`, as the C library does for code of the CPU. Fields
    // that depend on the machine stay 0: memory of streams and runs. Fault::internal: the artifact
    // breaks a rule of the format, or has no such variant. `variant` empty: it has no code for any.
    static Expected<std::shared_ptr<const DescribedModel>> of(const std::vector<uint8_t> &artifact,
                                                              const std::string &variant, Model &model);

    std::deque<std::string> texts; // whose addresses stay
    std::deque<std::vector<uint32_t>> dims;
    uint64_t longest_firing = 0; // input ticks between rows of a stream that come at once, at most

    ReplySizes reply_sizes(const Model &model) const;
};

namespace {

using artifact::count;
using runtime::to_interface;

struct Free {
    void operator()(void *memory) const { std::free(memory); }
};

// Fills in one model from one plan.
class Description {
public:
    Description(const fb::Plan &plan, DescribedModel &kept, Model &model)
        : plan_(plan), kept_(kept), model_(model) {}

    void fill_in(const std::string &variant, uint64_t bytes) {
        lw_model_info &info = model_.info;
        info.struct_size = sizeof info;
        info.name = keep(plan_.name());
        info.producer = keep(plan_.producer());
        info.variant = keep(variant);
        info.report = plan_.report() ? keep(plan_.report()) : "{}";
        info.certificates = plan_.certificates() ? keep(plan_.certificates()) : "{}";
        info.artifact_bytes = bytes;
        info.derived_bytes = plan_.derived_bytes();
        info.error_limit = error_limit();
        inputs();
        labels();
        entries();
        fields();
    }

private:
    const char *keep(std::string text) {
        kept_.texts.push_back(std::move(text));
        return kept_.texts.back().c_str();
    }
    const char *keep(const flatbuffers::String *text) { return keep(text->str()); }

    float error_limit() const {
        float limit = plan_.error_limit();
        for (uint32_t g = 0; g < count(plan_.golden()); ++g) {
            const fb::Golden &golden = *plan_.golden()->Get(g);
            if (plan_.entries()->Get(golden.entry())->device() == fb::DeviceKind::cpu)
                limit = std::max(limit, golden.error_limit());
        }
        return limit;
    }

    void inputs() {
        for (const fb::Input *input : *plan_.inputs()) {
            lw_input_info info = {};
            info.struct_size = sizeof info;
            info.name = keep(input->name());
            info.kind = to_interface<lw_input_kind>(input->kind());
            info.width = input->width();
            info.sample_rate = input->sample_rate();
            info.vocabulary = input->vocabulary();
            model_.inputs.push_back(info);
        }
        model_.info.inputs = static_cast<uint32_t>(model_.inputs.size());
    }

    void labels() {
        for (uint32_t i = 0; i < count(plan_.labels()); ++i)
            model_.labels.push_back(plan_.labels()->Get(i)->str());
        model_.info.labels = static_cast<uint32_t>(model_.labels.size());
    }

    std::vector<lw_output_info> outputs_of(const fb::Entry &entry) {
        std::vector<lw_output_info> list;
        for (const fb::OutputPort *port : *entry.outputs()) {
            lw_output_info info = {};
            info.struct_size = sizeof info;
            info.name = keep(port->name());
            info.width = port->width();
            info.clock_num = port->clock_num();
            info.clock_den = port->clock_den();
            info.delay = port->delay();
            info.sample_rate = port->sample_rate();
            info.lag = port->lag();
            info.whole = port->whole();
            list.push_back(info);
        }
        return list;
    }

    // The offline entry of the largest capacity, and the stream entries in their order.
    void entries() {
        lw_model_info &info = model_.info;
        const fb::Entry *run = nullptr;
        for (const fb::Entry *entry : *plan_.entries()) {
            if (entry->device() != fb::DeviceKind::cpu) continue;
            if (entry->kind() == fb::EntryKind::run && (!run || entry->block() > run->block())) run = entry;
            if (entry->kind() == fb::EntryKind::stream) stream(*entry);
        }
        if (run) {
            model_.run_outputs = outputs_of(*run);
            info.has_run = 1;
            info.run_outputs = static_cast<uint32_t>(model_.run_outputs.size());
            info.run_capacity = run->block();
        }
        if (model_.entries.empty()) return;
        info.has_stream = 1;
        info.stream_outputs = static_cast<uint32_t>(model_.stream_outputs.size());
        info.stream_block = model_.entries[0].block;
        info.stream_delay = model_.entries[0].delay;
        info.stream_state_bytes = plan_.state_bytes();
        info.stream_entries = static_cast<uint32_t>(model_.entries.size());
    }

    void stream(const fb::Entry &entry) {
        if (model_.entries.empty()) model_.stream_outputs = outputs_of(entry);
        lw_stream_entry_info info = {};
        info.struct_size = sizeof info;
        info.block = entry.block();
        info.period = entry.period();
        info.cache_bytes = entry.cache_bytes();
        for (const fb::OutputPort *port : *entry.outputs()) {
            info.delay = std::max(info.delay, port->delay());
            kept_.longest_firing = std::max(kept_.longest_firing, uint64_t{entry.block()} * port->period());
        }
        model_.entries.push_back(info);
    }

    void fields() {
        if (!model_.info.has_stream) return;
        for (uint32_t i = 0; i < count(plan_.state()); ++i) {
            const fb::StateField &field = *plan_.state()->Get(i);
            lw_state_field info = {};
            info.struct_size = sizeof info;
            info.layer = keep(field.layer());
            info.name = keep(field.name());
            info.kind = to_interface<lw_state_kind>(field.kind());
            info.elem = to_interface<lw_state_elem>(field.elem());
            kept_.dims.emplace_back(field.dims()->begin(), field.dims()->end());
            info.dims = kept_.dims.back().data();
            info.n_dims = field.dims()->size();
            (void)artifact::field_bytes(field, &info.bytes); // V15
            model_.state_fields.push_back(info);
        }
        model_.info.state_fields = static_cast<uint32_t>(model_.state_fields.size());
    }

    const fb::Plan &plan_;
    DescribedModel &kept_;
    Model &model_;
};

bool has_variant(const fb::Plan &plan, const std::string &name) {
    return std::any_of(plan.variants()->begin(), plan.variants()->end(), [&](const fb::CodeVariant *variant) {
        return variant->target()->string_view() == name;
    });
}

} // namespace

Expected<std::shared_ptr<const DescribedModel>> DescribedModel::of(const std::vector<uint8_t> &artifact,
                                                                   const std::string &variant, Model &model) {
    const std::unique_ptr<uint8_t, Free> copy( // 64-aligned, as the rules ask
        static_cast<uint8_t *>(std::aligned_alloc(64, (artifact.size() + 63) / 64 * 64 + 64)));
    if (!copy) return Status::device("the compiled model: not enough memory for a copy of it");
    std::copy(artifact.begin(), artifact.end(), copy.get());
    artifact::Request request;
    request.file = copy.get();
    request.size = artifact.size();
    request.memory_limit = UINT64_MAX; // this program compiled it
    artifact::View view;
    if (const artifact::Broken broken = artifact::verify(request, &view))
        return Status::internal(std::string("the compiled model: ") + broken.text);
    if (!variant.empty() && !has_variant(view.plan(), variant))
        return Status::internal("the compiled model: has no code for " + variant);
    auto kept = std::make_shared<DescribedModel>();
    Description(view.plan(), *kept, model).fill_in(variant, artifact.size());
    return std::shared_ptr<const DescribedModel>(std::move(kept));
}

ReplySizes DescribedModel::reply_sizes(const Model &model) const {
    ReplySizes sizes;
    sizes.run_outputs = model.run_outputs;
    sizes.stream_outputs = model.stream_outputs;
    uint64_t delay = 0, block = 0, tick_bytes = 0;
    for (const lw_stream_entry_info &entry : model.entries) {
        delay = std::max<uint64_t>(delay, entry.delay);
        block = std::max<uint64_t>(block, entry.block);
    }
    for (const lw_input_info &input : model.inputs) tick_bytes += 64 + 4 * uint64_t{input.width};
    sizes.largest_lag = delay + 2 * longest_firing;
    // Each field has a head and its names. The ticks that are in no block yet follow.
    constexpr uint64_t head = 4096, of_field = 1024;
    sizes.state_bytes =
        model.info.stream_state_bytes + head + of_field * model.state_fields.size() + block * tick_bytes;
    return sizes;
}

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
