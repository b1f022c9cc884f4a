#include "packer/pack.h"
#include "packer/expected_rows.h"
#include "packer/runtime_status.h"
#include <memory>

namespace longwave::packer {

namespace {

using Model = std::unique_ptr<lw_model, void (*)(lw_model *)>;

// What was made of a trusted shape has its code and no signature yet.
lw_open_options of_our_own(const lw_open_options *given) {
    lw_open_options options = LW_OPEN_OPTIONS_INIT;
    options.allow_unsigned_code = 1;
    if (!given) return options;
    options.variant = given->variant;
    options.allocator = given->allocator;
    options.memory_limit = given->memory_limit;
    options.kernels = given->kernels;
    return options;
}

class Packer {
public:
    explicit Packer(const Options &options) : options_(options) {}

    Expected<Packed> pack(std::span<const uint8_t> bytes, const Tensors &tensors) {
        // The caller's options decide whether this code may run, before it does.
        LW_TRY(open(bytes, options_.open).status());
        code_ = LW_BAD_ARTIFACT;
        LW_ASSIGN(Shape shape, Shape::of(bytes));
        code_ = LW_INVALID_ARGUMENT;
        LW_TRY(shape.take(tensors));
        Packed packed;
        packed.tensors = shape.tensors();
        const lw_open_options ours = of_our_own(options_.open);
        {
            LW_ASSIGN(const Model model, open(shape.bytes(), &ours));
            code_ = LW_BAD_ARTIFACT;
            LW_ASSIGN(packed.vectors, make_expected_rows(shape, model.get()));
        }
        shape.renew();
        if (options_.check) {
            LW_ASSIGN(const Model model, open(shape.bytes(), &ours));
            LW_TRY(ran(lw_model_verify(model.get(), &packed.worst)));
        }
        code_ = LW_INVALID_ARGUMENT;
        if (const Signing *by = options_.signing) LW_TRY(shape.sign(by->key, by->version, by->sign));
        packed.bytes.assign(shape.bytes().begin(), shape.bytes().end());
        return packed;
    }

    // What lw_pack returns for a failure.
    lw_status code(const Status &failure) const {
        return failure.fault() == Fault::device && code_ < LW_NO_MEMORY ? LW_DEVICE : code_;
    }

private:
    Status ran(lw_status status) {
        code_ = status;
        return status_of(status);
    }
    Expected<Model> open(std::span<const uint8_t> bytes, const lw_open_options *options) {
        lw_model *made = nullptr;
        LW_TRY(ran(lw_model_open_memory(bytes.data(), bytes.size(), options, &made)));
        return Model(made, lw_model_close);
    }

    const Options &options_;
    lw_status code_ = LW_OK;
};

} // namespace

Expected<Packed> pack(std::span<const uint8_t> shape, const Tensors &tensors, const Options &options,
                      lw_status *status) {
    Packer packer(options);
    Expected<Packed> packed = packer.pack(shape, tensors);
    if (status) *status = packed ? LW_OK : packer.code(packed.status());
    return packed;
}

} // namespace longwave::packer
