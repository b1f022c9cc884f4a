#include "schedules/kernel_builder.h"
#include "schedules/elementary.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

void constrain(OutputImageParam buffer, const Shape &shape) {
    for (size_t i = 0; i < shape.size(); i++) buffer.dim(i).set_bounds(0, static_cast<int>(shape[i].extent)).set_stride(shape[i].stride);
}

} // namespace

Shape dense(const std::vector<int> &extents) {
    Shape shape;
    int stride = 1;
    for (int extent : extents) {
        shape.push_back({static_cast<uint32_t>(extent), stride});
        stride *= extent;
    }
    return shape;
}

KernelBuilder::KernelBuilder(const std::string &kernel, const nlohmann::json &spec, const targets::Target &target_)
    : params(kernel, spec.contains("params") ? spec.at("params") : spec), target(target_), kernel_(kernel), spec_(spec) {
    params.require(spec.contains("params"), "the specification has no params");
    for (const auto &[key, value] : spec.items())
        params.require(key == "kernel" || key == "params" || key == "epilogue", "unknown key '" + key + "' in the specification");
    params.require(!spec.contains("epilogue") || spec.at("epilogue").is_array(), "'epilogue' must be an array");
}

ImageParam KernelBuilder::add(std::vector<ImageParam> &list, const std::string &name, const Shape &shape, Type type) {
    ImageParam buffer(type, static_cast<int>(shape.size()), name);
    constrain(buffer, shape);
    list.push_back(buffer);
    return buffer;
}

ImageParam KernelBuilder::input(const std::string &name, const Shape &shape, Type type) { return add(inputs_, name, shape, type); }
ImageParam KernelBuilder::weight(const std::string &name, const Shape &shape, Type type) { return add(weights_, name, shape, type); }

Expr KernelBuilder::scalar(const std::string &name) {
    scalars_.emplace_back(name);
    return scalars_.back();
}

void KernelBuilder::no_epilogue() const {
    params.require(!spec_.contains("epilogue") || spec_.at("epilogue").empty(), "this kernel takes no epilogue");
}

KernelBuilder::Epilogue KernelBuilder::epilogue(const Shape &shape, int valid) {
    struct Step {
        std::string op;
        float offset = 0;
        std::vector<ImageParam> operands;
    };
    std::vector<Step> steps;
    bool moves_zero = false;
    const Shape row(shape.begin(), shape.end() - 1);
    for (const nlohmann::json &entry : spec_.value("epilogue", nlohmann::json::array())) {
        const std::string place = "epilogue " + std::to_string(steps.size()), suffix = "_" + std::to_string(steps.size());
        Params own(kernel_ + ": " + place, entry);
        Step step{.op = own.choice("op", {"affine", "relu", "gelu", "silu", "sigmoid", "tanh", "log", "add", "mul"})};
        if (step.op == "affine") step.operands = {add(operands_, "scale" + suffix, row, Float(32)), add(operands_, "shift" + suffix, row, Float(32))};
        if (step.op == "add" || step.op == "mul") step.operands = {add(operands_, step.op + suffix, shape, Float(32))};
        if (step.op == "log") step.offset = static_cast<float>(own.real("offset", 0, 1e30));
        moves_zero = moves_zero || step.op == "sigmoid" || step.op == "log";
        own.finish();
        steps.push_back(step);
    }
    const bool mask = moves_zero && valid < static_cast<int>(shape[0].extent);
    const int group = static_cast<int>(pad(static_cast<uint32_t>(valid))); // dimension 0 may hold several padded groups
    const bool grouped = group < static_cast<int>(shape[0].extent);
    return [steps, mask, valid, group, grouped](Expr value, const std::vector<Expr> &at) {
        const std::vector<Expr> at_row(at.begin(), at.end() - 1);
        for (const Step &step : steps) {
            if (step.op == "affine") value = value * step.operands[0](at_row) + step.operands[1](at_row);
            if (step.op == "relu") value = max(value, 0.0f);
            if (step.op == "gelu") value = gelu(value);
            if (step.op == "silu") value = silu(value);
            if (step.op == "sigmoid") value = sigmoid(value);
            if (step.op == "tanh") value = tangent(value);
            if (step.op == "log") value = logarithm(value + step.offset);
            if (step.op == "add") value = value + step.operands[0](at);
            if (step.op == "mul") value = value * step.operands[0](at);
        }
        return mask ? select((grouped ? at[0] % group : at[0]) < valid, value, 0.0f) : value;
    };
}

KernelBuilder::Epilogue KernelBuilder::tile_epilogue(const Shape &shape, int channels) {
    const bool padded = static_cast<int>(pad(channels)) != channels;
    for (const nlohmann::json &entry : spec_.value("epilogue", nlohmann::json::array())) {
        const std::string op = entry.is_object() ? entry.value("op", "") : "";
        params.require(!padded || (op != "sigmoid" && op != "log"),
                       "epilogue '" + op + "' needs channels to be a multiple of 16 here; use a pointwise kernel");
    }
    return epilogue(shape, static_cast<int>(shape[0].extent));
}

void KernelBuilder::outputs(Func f, const std::vector<Shape> &shapes, const std::vector<std::string> &names) {
    std::vector<OutputImageParam> buffers = f.output_buffers();
    for (size_t i = 0; i < shapes.size(); i++) {
        if (i == 0) constrain(buffers[i], shapes[i]);
        for (size_t d = 0; d < shapes[i].size(); d++) buffers[i].dim(static_cast<int>(d)).set_stride(shapes[i][d].stride);
        output_buffers_.push_back({names[i], f.types()[i], buffers[i], buffers[0]});
    }
    outputs_.push_back(f);
}

void KernelBuilder::finish() const {
    params.finish();
    buffers_ = inputs_;
    buffers_.insert(buffers_.end(), weights_.begin(), weights_.end());
    buffers_.insert(buffers_.end(), operands_.begin(), operands_.end());
}

std::vector<Argument> KernelBuilder::arguments() const {
    std::vector<Argument> list;
    for (const ImageParam &buffer : buffers_) list.push_back(buffer);
    for (const Param<int> &scalar : scalars_) list.push_back(scalar);
    return list;
}

int dividing_vector(int extent, int limit) {
    while (limit > 1 && extent % limit) limit /= 2;
    return limit;
}

int divisor_at_most(int n, int limit) {
    int best = 1;
    for (int d = 1; d <= n && d <= limit; d++)
        if (n % d == 0) best = d;
    return best;
}

Expr wrapped(const Expr &index, int ring) { return select(index < 0, index + ring, index); }

void store(Func f, int64_t bytes) { f.store_in(bytes > 1024 ? MemoryType::Heap : MemoryType::Stack); }

} // namespace longwave::schedules
