#include "schedules/kernel_builder.h"
#include "schedules/elementary.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

void constrain(OutputImageParam buffer, const Shape &shape) {
    for (size_t i = 0; i < shape.size(); i++)
        buffer.dim(i).set_bounds(0, static_cast<int>(shape[i].extent)).set_stride(shape[i].stride);
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

Expr KernelBuilder::epilogue(Expr value, const std::vector<Expr> &at, const Shape &shape, int valid) {
    if (!spec_.contains("epilogue")) return value;
    bool moves_zero = false;
    int count = 0;
    const Shape row(shape.begin(), shape.end() - 1);
    const std::vector<Expr> at_row(at.begin(), at.end() - 1);
    for (const nlohmann::json &entry : spec_.at("epilogue")) {
        const std::string place = "epilogue " + std::to_string(count);
        params.require(entry.is_object() && entry.contains("op") && entry.at("op").is_string(), place + " must be an object with a text 'op'");
        const std::string op = entry.at("op");
        Params own(kernel_ + ": " + place + " (" + op + ")", entry);
        own.choice("op", {"affine", "relu", "gelu", "silu", "sigmoid", "log", "add", "mul"});
        const std::string suffix = "_" + std::to_string(count++);
        if (op == "affine") {
            ImageParam scale = add(operands_, "scale" + suffix, row, Float(32)), shift = add(operands_, "shift" + suffix, row, Float(32));
            value = value * scale(at_row) + shift(at_row);
        }
        if (op == "relu") value = max(value, 0.0f);
        if (op == "gelu") value = gelu(value);
        if (op == "silu") value = silu(value);
        if (op == "sigmoid") value = sigmoid(value);
        if (op == "log") value = logarithm(value + static_cast<float>(own.real("offset", 0, 1e30)));
        if (op == "add") value = value + add(operands_, "addend" + suffix, shape, Float(32))(at);
        if (op == "mul") value = value * add(operands_, "factor" + suffix, shape, Float(32))(at);
        moves_zero = moves_zero || op == "sigmoid" || op == "log";
        own.finish();
    }
    if (moves_zero && valid < static_cast<int>(shape[0].extent)) value = select(at[0] < valid, value, 0.0f);
    return value;
}

void KernelBuilder::outputs(Func f, const std::vector<Shape> &shapes) {
    std::vector<OutputImageParam> buffers = f.output_buffers();
    for (size_t i = 0; i < shapes.size(); i++) constrain(buffers[i], shapes[i]);
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

int dividing_vector(int extent, int lanes) {
    while (lanes > 1 && extent % lanes) lanes /= 2;
    return lanes;
}

int divisor_at_most(int n, int limit) {
    int best = 1;
    for (int d = 1; d <= n && d <= limit; d++)
        if (n % d == 0) best = d;
    return best;
}

Expr wrapped(const Expr &index, int ring) { return select(index < 0, index + ring, index); }

void store(Func f, int64_t bytes) { f.store_in(bytes > 4096 ? MemoryType::Heap : MemoryType::Stack); }

} // namespace longwave::schedules
