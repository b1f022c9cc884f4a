#include "schedules/halide/builder.h"
#include "schedules/pointwise/epilogue.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

void constrain(OutputImageParam buffer, const Shape &shape) {
    for (size_t i = 0; i < shape.size(); i++)
        buffer.dim(i).set_bounds(0, static_cast<int>(shape[i].extent)).set_stride(shape[i].stride);
}

} // namespace

// What a specification says of several streams: {"apart":{"arguments":[0,3],"elements":2704}}. Of an argument
// whose last dimension counts the streams, what each stream has lies so far from that of the next. Others lie
// as they do without.
Shape with_streams_apart(const nlohmann::json &spec, size_t number, Shape shape) {
    const nlohmann::json &apart = spec.at("apart"), &arguments = apart.at("arguments");
    if (std::find(arguments.begin(), arguments.end(), number) != arguments.end() &&
        shape.back().extent == spec.at("params").value("streams", 1u))
        shape.back().stride = apart.at("elements").get<int32_t>();
    return shape;
}

Shape dense(const std::vector<int> &extents) {
    Shape shape;
    int stride = 1;
    for (int extent : extents) {
        shape.push_back({static_cast<uint32_t>(extent), stride});
        stride *= extent;
    }
    return shape;
}

Shape channel_major(const Shape &shape) {
    Shape placed = shape;
    const auto rows = static_cast<int32_t>(shape.back().extent);
    for (Dim &dim : placed) dim.stride *= rows;
    placed.back().stride = 1;
    return placed;
}

KernelBuilder::KernelBuilder(const std::string &kernel, const nlohmann::json &spec,
                             const targets::Target &target_)
    : params(kernel, spec.contains("params") ? spec.at("params") : spec), target(target_), kernel_(kernel),
      spec_(spec) {
    params.require(spec.contains("params"), "the specification has no params");
    for (const auto &[key, value] : spec.items())
        params.require(key == "kernel" || key == "params" || key == "epilogue" || key == "channel_major" ||
                           key == "variant" || key == "apart",
                       "unknown key '" + key + "' in the specification");
    params.require(!spec.contains("epilogue") || spec.at("epilogue").is_array(),
                   "'epilogue' must be an array");
    for (const nlohmann::json &number : spec.value("channel_major", nlohmann::json::array())) {
        params.require(number.is_number_unsigned(), "'channel_major' must be numbers of arguments");
        asked_channel_major_.insert(number.get<size_t>());
    }
    if (spec.contains("apart")) {
        const nlohmann::json &apart = spec.at("apart");
        params.require(apart.is_object() && apart.size() == 2 && apart.contains("elements") &&
                           apart.at("elements").is_number_unsigned() &&
                           apart.at("elements").get<uint64_t>() <= INT32_MAX && apart.contains("arguments") &&
                           apart.at("arguments").is_array(),
                       "'apart' must have 'elements' below 2^31 and a list 'arguments'");
        for (const nlohmann::json &number : apart.at("arguments"))
            params.require(number.is_number_unsigned(), "'apart' must list numbers of arguments");
        params.require(target.kind == targets::Kind::cpu && !spec.contains("channel_major"),
                       "'apart' is for CPUs, without 'channel_major'");
    }
    const nlohmann::json asked = spec.value("variant", nlohmann::json(0u));
    params.require(asked.is_number_unsigned(), "'variant' must be a number");
    asked_variant_ = asked.get<size_t>();
}

ImageParam KernelBuilder::add(std::vector<ImageParam> &list, const std::string &name, const Shape &shape,
                              Type type) {
    // Weights never have rows.
    const size_t operands = inputs_.size() + weights_.size(), before = &list == &operands_ ? operands
                                                                       : &list == &scalars_of_streams_
                                                                           ? operands + operands_.size()
                                                                           : 0;
    ImageParam buffer(type, static_cast<int>(shape.size()), name);
    constrain(buffer, &list == &weights_ ? shape : placed(name, before + list.size(), shape));
    list.push_back(buffer);
    return buffer;
}

Shape KernelBuilder::placed(const std::string &name, size_t number, const Shape &shape) {
    if (spec_.contains("apart")) return with_streams_apart(spec_, number, shape);
    if (!asked_channel_major_.contains(number)) return shape;
    channel_major_.insert(name);
    return channel_major(shape);
}

bool KernelBuilder::asks_channel_major_of_result() const {
    return asked_channel_major_.contains(inputs_.size() + weights_.size() + operands_.size() +
                                         scalars_.size());
}

void KernelBuilder::allow_channel_major(std::vector<std::string> together, uint32_t sectors) {
    layout_groups_.push_back(std::move(together));
    sectors_by_row_ = std::max(sectors_by_row_, sectors);
}

void KernelBuilder::allow_channel_major_with_operands(std::vector<std::string> together, uint32_t sectors) {
    together.insert(together.end(), row_operands_.begin(), row_operands_.end());
    allow_channel_major(std::move(together), sectors);
}

size_t KernelBuilder::variant(size_t count) {
    variants_ = count;
    return std::min(asked_variant_, count - 1); // finish() refuses more
}

void KernelBuilder::check_layouts() const {
    std::set<size_t> found;
    const std::vector<std::string> names = argument_names();
    for (const std::vector<std::string> &group : layout_groups_) {
        const auto is = [&](const std::string &name) { return is_channel_major(name); };
        const auto asked = std::count_if(group.begin(), group.end(), is);
        params.require(asked == 0 || asked == static_cast<ptrdiff_t>(group.size()),
                       "'channel_major' must name all arguments of a layout group or none");
        for (size_t i = 0; asked && i < names.size(); i++)
            if (std::count(group.begin(), group.end(), names[i])) found.insert(i);
    }
    params.require(found == asked_channel_major_,
                   "'channel_major' names an argument whose rows lie row by row only");
}

ImageParam KernelBuilder::input(const contract::Names::Input &name, const Shape &shape, Type type) {
    return add(inputs_, name.text, shape, type);
}
ImageParam KernelBuilder::weight(const contract::Names::Weight &name, const Shape &shape, Type type) {
    return add(weights_, name.text, shape, type);
}

ImageParam KernelBuilder::weight_bytes(const contract::Names::Weight &name, const Shape &shape) {
    Shape bytes = shape;
    bytes[0].extent *= 4;
    for (size_t i = 1; i < bytes.size(); i++) bytes[i].stride *= 4;
    return add(weights_, name.text, bytes, Int(8));
}

namespace {
Shape in_words(const Shape &shape) {
    Shape words{{2, 1}};
    for (const Dim &dim : shape) words.push_back({dim.extent, 2 * dim.stride});
    return words;
}
} // namespace

ImageParam KernelBuilder::input_words(const contract::Names::Input &name, const Shape &shape) {
    words_.insert(name.text);
    return add(inputs_, name.text, in_words(shape), UInt(32));
}
ImageParam KernelBuilder::weight_words(const contract::Names::Weight &name, const Shape &shape) {
    words_.insert(name.text);
    return add(weights_, name.text, in_words(shape), UInt(32));
}

Expr KernelBuilder::scalar(const contract::Names::Scalar &argument, int high, int multiple) {
    const std::string &name = argument.text;
    params.require(high >= 0 && multiple >= 1 && high % multiple == 0, "scalar '" + name + "' has no value");
    const int index = static_cast<int>(scalars_.size());
    scalars_.push_back({name, Param<int>(name), high, multiple});
    Expr given = scalars_.back().param;
    if (target.kind == targets::Kind::gpu) {
        if (!scalars_buffer_) scalars_buffer_.emplace(Int(32), 1, scalars_buffer);
        scalars_buffer_->dim(0).set_bounds(0, index + 1).set_stride(1);
        given = (*scalars_buffer_)(index);
    }
    const Expr value = clamp(given, 0, high);
    return multiple == 1 ? value : value / multiple * multiple;
}

std::function<Expr(const Expr &)> KernelBuilder::scalar_of_streams(const contract::Names::Scalar &argument,
                                                                   int high, int streams) {
    const std::string &name = argument.text;
    if (streams == 1) return [value = scalar(argument, high)](const Expr &) { return value; };
    params.require(high >= 0, "scalar '" + name + "' has no value");
    const ImageParam values = add(scalars_of_streams_, name, dense({streams}), Int(32));
    return [values, high](const Expr &stream) { return clamp(values(stream), 0, high); };
}

void KernelBuilder::no_epilogue() const { params.require(!has_epilogue(), "this kernel takes no epilogue"); }

KernelBuilder::Epilogue KernelBuilder::epilogue(const Shape &shape, int valid) {
    struct Step {
        const PointwiseOp *op;
        std::vector<float> numbers;
        std::vector<ImageParam> operands;
    };
    std::vector<Step> steps;
    bool nonzero_at_zero = false;
    const Shape row(shape.begin(), shape.end() - 1);
    for (const nlohmann::json &entry : spec_.value("epilogue", nlohmann::json::array())) {
        const std::string number = std::to_string(steps.size());
        Params own(kernel_ + ": epilogue " + number, entry);
        Step step{.op = &pointwise_op(own)};
        for (const char *name : step.op->numbers)
            step.numbers.push_back(static_cast<float>(own.real(name, -1e30, 1e30)));
        own.finish();
        for (const char *name : step.op->operands) {
            const bool whole = step.op->kind == Operands::whole;
            step.operands.push_back(
                add(operands_, std::string(name) + "_" + number, whole ? shape : row, Float(32)));
            if (whole) row_operands_.push_back(step.operands.back().name());
        }
        nonzero_at_zero = nonzero_at_zero || step.op->nonzero_at_zero;
        steps.push_back(step);
    }
    const bool mask = nonzero_at_zero && valid < static_cast<int>(shape[0].extent);
    const int group =
        static_cast<int>(pad(static_cast<uint32_t>(valid))); // dimension 0 may hold several padded groups
    const bool grouped = group < static_cast<int>(shape[0].extent);
    return [steps, mask, valid, group, grouped](Expr value, const std::vector<Expr> &at) {
        const std::vector<Expr> at_row(at.begin(), at.end() - 1);
        for (const Step &step : steps) {
            std::vector<Expr> operands;
            for (const ImageParam &operand : step.operands)
                operands.push_back(operand(step.op->kind == Operands::row ? at_row : at));
            value = step.op->apply(value, operands, step.numbers);
        }
        return mask ? select((grouped ? at[0] % group : at[0]) < valid, value, 0.0f) : value;
    };
}

KernelBuilder::Epilogue KernelBuilder::tile_epilogue(const Shape &shape, int channels) {
    const bool padded = static_cast<int>(pad(channels)) != channels;
    for (const nlohmann::json &entry : spec_.value("epilogue", nlohmann::json::array())) {
        Params own(kernel_ + ": epilogue", entry);
        const PointwiseOp &op = pointwise_op(own);
        params.require(!padded || !op.nonzero_at_zero,
                       std::string("epilogue '") + op.name +
                           "' needs channels to be a multiple of 16 here; use a pointwise kernel");
    }
    return epilogue(shape, static_cast<int>(shape[0].extent));
}

void KernelBuilder::outputs(Func f, const std::vector<Output> &list) {
    const std::vector<OutputImageParam> buffers = f.output_buffers();
    const Tuple pure = f.values();
    params.require(list.size() == buffers.size(), "internal: a name for each element of '" + f.name() + "'");
    for (size_t i = 0; i < list.size(); i++) {
        if (list[i].kind == ArgKind::inout) {
            const auto *call = pure[i].as<Internal::Call>();
            params.require(call && call->is_intrinsic(Internal::Call::undef),
                           "internal: '" + list[i].name + "' would be overwritten");
        }
        OutputImageParam buffer =
            buffers[i]; // Halide gives all elements the extents of the first; only strides are their own
        const size_t number = inputs_.size() + weights_.size() + operands_.size() +
                              scalars_of_streams_.size() + scalars_.size() + output_buffers_.size();
        Output declared = list[i];
        // A Func with dimensions of its own lies as the schedule says.
        if (declared.argument.empty()) declared.shape = placed(declared.name, number, declared.shape);
        else declared.argument = placed(declared.name, number, declared.argument);
        const Shape &shape = declared.shape;
        if (i == 0) constrain(buffer, shape);
        for (size_t d = 0; d < shape.size(); d++)
            buffer.dim(static_cast<int>(d)).set_stride(shape[d].stride * (list[i].words ? 2 : 1));
        output_buffers_.push_back({declared, f.types()[i], buffer});
    }
    outputs_.push_back(f);
}

// What the schedule declared is what the contract lists, in its order. Some of it is there with some params
// only.
void KernelBuilder::check_arguments() const {
    if (expected_.empty()) return;
    using contract::Part;
    std::vector<std::pair<std::string, Part>> found;
    for (const ImageParam &buffer : inputs_) found.emplace_back(buffer.name(), Part::input);
    for (const ImageParam &buffer : weights_) found.emplace_back(buffer.name(), Part::weight);
    for (const ImageParam &buffer : scalars_of_streams_) found.emplace_back(buffer.name(), Part::scalar);
    for (const Scalar &scalar : scalars_) found.emplace_back(scalar.name, Part::scalar);
    for (const OutputBuffer &output : output_buffers_)
        found.emplace_back(output.declared.name,
                           output.declared.kind == ArgKind::inout ? Part::state : Part::output);
    size_t next = 0;
    for (const auto &[name, part] : found) {
        const auto is = [&](const Expected &one) {
            return one.part == part && (one.numbered ? name.starts_with(one.name + "_") : name == one.name);
        };
        while (next < expected_.size() && !is(expected_[next])) next++;
        params.require(next < expected_.size(),
                       "internal: the contract has no argument '" + name + "', or has it before others");
        if (!expected_[next].numbered) next++;
    }
}

void KernelBuilder::finish() const {
    check_arguments();
    params.finish();
    params.require(asked_variant_ < variants_, "'variant' must be less than " + std::to_string(variants_));
    buffers_ = inputs_;
    buffers_.insert(buffers_.end(), weights_.begin(), weights_.end());
    buffers_.insert(buffers_.end(), operands_.begin(), operands_.end());
    buffers_.insert(buffers_.end(), scalars_of_streams_.begin(), scalars_of_streams_.end());
    check_layouts();
}

std::vector<Argument> KernelBuilder::arguments() const {
    std::vector<Argument> list;
    for (const ImageParam &buffer : buffers_) list.push_back(buffer);
    if (scalars_buffer_) list.push_back(*scalars_buffer_);
    else
        for (const Scalar &scalar : scalars_) list.push_back(scalar.param);
    return list;
}

std::vector<std::string> KernelBuilder::argument_names() const {
    std::vector<std::string> names;
    for (const ImageParam &buffer : buffers_) names.push_back(buffer.name());
    names.insert(names.end(), scalars_.size(), "");
    for (const OutputBuffer &output : output_buffers_) names.push_back(output.buffer.name());
    return names;
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

// As the smaller of two unsigned numbers: a negative index is a large one. Of `select(index < 0, ...)`
// Halide's simplifier makes a wrong comparison where `index` counts in steps of several rows and the loop is
// unrolled.
Expr wrapped(const Expr &index, int ring) {
    const Expr inside = cast<int>(min(cast<uint32_t>(index), cast<uint32_t>(index + ring)));
    return unsafe_promise_clamped(inside, 0, ring - 1);
}

void store(Func f, int64_t bytes) { f.store_in(bytes > 1024 ? MemoryType::Heap : MemoryType::Stack); }

} // namespace longwave::schedules
