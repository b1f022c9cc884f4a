#include "formats/huggingface/build.h"
#include "formats/base/checked.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace longwave::huggingface {
namespace {

using package::Node;
using package::Package;
using package::Problems;
using package::Tensor;

constexpr uint64_t most_elements = 1 << 24; // of a constant that is computed here
constexpr size_t most_nodes = 65'536;

std::string prefix_of(const Architecture &architecture, uint64_t block) {
    return architecture.prefix + "." + std::to_string(block) + ".";
}

// Calls use(row, prefix) for each row of the tables of tensors.
template <class Use> void for_tensors(const Config &config, const Use &use) {
    const Architecture &of = *config.architecture;
    for (const TensorRow &row : of.tensors) use(row, std::string());
    for (size_t block = 0; block < config.kinds.size(); ++block)
        for (const TensorRow &row : config.block(block).tensors) use(row, prefix_of(of, block));
}

std::vector<uint64_t> sizes_of(const Config &config, const std::vector<std::string> &sums) {
    std::vector<uint64_t> sizes;
    for (const std::string &sum : sums) sizes.push_back(config.size(sum));
    return sizes;
}

// A tensor that another one replaces may stand in the file as well, as older versions wrote it.
void drop_copy(const std::string &key, const std::string &original, std::map<std::string, Tensor> &tensors,
               Problems &problems) {
    const auto copy = tensors.find(key), first = tensors.find(original);
    if (copy == tensors.end() || first == tensors.end()) return;
    if (copy->second.shape != first->second.shape || !(copy->second.data == first->second.data))
        problems.add("tensor " + package::in_quotes(key), "the numbers of " + package::in_quotes(original),
                     "others", "set \"tie_word_embeddings\" to false if the model has two matrices");
    tensors.erase(copy);
}

// Makes a tensor of its parts if all are there and fit together; otherwise they stay as they are.
void join_parts(const TensorRow &row, const std::string &prefix, std::map<std::string, Tensor> &tensors) {
    if (row.parts.empty() || tensors.count(prefix + row.name)) return;
    Tensor whole;
    std::vector<float> numbers;
    for (const std::string &name : row.parts) {
        const auto found = tensors.find(prefix + name);
        if (found == tensors.end() || found->second.shape.size() != row.dims.size()) return;
        const Tensor &part = found->second;
        if (whole.shape.empty()) whole.shape = part.shape;
        else if (std::equal(part.shape.begin() + 1, part.shape.end(), whole.shape.begin() + 1))
            whole.shape[0] += part.shape[0];
        else return;
        numbers.insert(numbers.end(), part.data.begin(), part.data.end());
    }
    whole.data = FloatArray(std::move(numbers));
    for (const std::string &name : row.parts) tensors.erase(prefix + name);
    tensors[prefix + row.name] = std::move(whole);
}

void check_tensors(const Config &config, std::map<std::string, Tensor> &tensors, Problems &problems) {
    std::set<std::string> known;
    for_tensors(config, [&](const TensorRow &row, const std::string &prefix) {
        const std::string key = prefix + row.name;
        if (!config.holds(row.when)) {
            if (!row.instead.empty()) drop_copy(key, prefix + row.instead, tensors, problems);
            return;
        }
        known.insert(key);
        join_parts(row, prefix, tensors);
        if (!row.formerly.empty() && !tensors.count(key))
            if (auto old = tensors.extract(prefix + row.formerly)) {
                old.key() = key;
                tensors.insert(std::move(old));
            }
        const std::string where = "tensor " + package::in_quotes(key);
        const std::vector<uint64_t> dims = sizes_of(config, row.dims);
        const auto found = tensors.find(key);
        if (found == tensors.end())
            return problems.add(where, "shape " + package::shape_text(dims), "no such tensor");
        if (found->second.shape != dims)
            return problems.add(where, "shape " + package::shape_text(dims),
                                package::shape_text(found->second.shape));
        if (!row.as.empty()) found->second.shape = sizes_of(config, row.as);
    });
    for (const auto &[key, tensor] : tensors)
        if (!known.count(key))
            problems.add("tensor " + package::in_quotes(key),
                         "only tensors that a " + config.architecture->model_type +
                             " of this config.json has",
                         "one that nothing reads");
}

std::string number_text(double value) { return nlohmann::json(value).dump(); }

// The nodes of the graph, and the constants that are computed for them.
class Builder {
public:
    Builder(const Config &config, Package &package, Problems &problems)
        : config_(config), package_(package), problems_(problems) {}

    // The nodes of `rows`, whose names and tensors begin with `prefix`. `x` is what they read, and then what
    // the last of them makes.
    void add(const std::vector<Row> &rows, const std::string &prefix, const std::vector<TensorRow> &tensors,
             std::string &x) {
        std::map<std::string, std::string> made = {{"x", x}};
        for (const Row &row : rows) {
            if (!config_.holds(row.when)) {
                made[row.name] = made[row.reads[0].name];
                continue;
            }
            Node node{.path = prefix + row.name, .name = prefix + row.name};
            node.op = row.op.starts_with('=') ? config_.ops.at(row.op.substr(1)) : row.op;
            node.attributes = nlohmann::json::object();
            for (const Attribute &attribute : row.attributes)
                node.attributes[attribute.name] = value_of(attribute);
            for (const Operand &read : row.reads) {
                if (read.kind == Operand::Kind::value) node.inputs.push_back({made[read.name], false});
                else if (read.kind == Operand::Kind::first)
                    node.inputs.push_back({first_.at(read.name), false});
                else if (const std::string key = key_of(read, prefix, tensors); !key.empty())
                    node.inputs.push_back({key, true});
            }
            made[row.name] = x = node.name;
            package_.graph.push_back(std::move(node));
        }
        if (!prefix.empty() && first_.empty()) first_ = std::move(made);
    }

private:
    nlohmann::json value_of(const Attribute &attribute) const {
        switch (attribute.kind) {
        case Attribute::Kind::number: return config_.number(attribute.of);
        case Attribute::Kind::text: return attribute.of;
        case Attribute::Kind::size: break;
        }
        return static_cast<int64_t>(std::min<uint64_t>(config_.size(attribute.of), INT64_MAX));
    }

    // The key of the tensor `name`, or of the one instead of it; empty: it is left out.
    std::string stored(const std::string &name, const std::string &prefix,
                       const std::vector<TensorRow> &tensors) const {
        for (const TensorRow &row : tensors) {
            if (row.name != name) continue;
            if (config_.holds(row.when)) return prefix + name;
            return row.instead.empty() ? "" : prefix + row.instead;
        }
        return "";
    }

    std::string key_of(const Operand &read, const std::string &prefix,
                       const std::vector<TensorRow> &tensors) {
        const std::string key = stored(read.name, prefix, tensors);
        switch (read.kind) {
        case Operand::Kind::value:
        case Operand::Kind::first:
        case Operand::Kind::tensor: return key;
        case Operand::Kind::list: return list(read, key);
        case Operand::Kind::transposed: return transposed(key);
        case Operand::Kind::filled: return filled(read);
        case Operand::Kind::places: return places(read);
        case Operand::Kind::rates: return rates(config_.size(read.parts[0].count));
        }
        return key;
    }

    std::string list(const Operand &read, const std::string &key) {
        const uint64_t each = config_.size(read.each), times = config_.size(read.times);
        const std::string name = key + (read.label.empty() ? "" : "." + read.label) +
                                 (each > 1 ? ".each" + std::to_string(each) : "") +
                                 (times > 1 ? ".times" + std::to_string(times) : "");
        const FloatArray &from = package_.weights[key].data;
        return computed(name, {from.size(), each, times}, [&](std::vector<float> &to) {
            for (uint64_t t = 0; t < times; ++t)
                for (const float x : from)
                    to.insert(to.end(), each, read.of ? static_cast<float>(read.of(double{x})) : x);
        });
    }

    std::string transposed(const std::string &key) {
        const Tensor &from = package_.weights[key];
        const uint64_t n = from.shape[0], rows = from.shape[1], columns = from.shape[2];
        const std::string name =
            computed(key + ".transposed", {n, rows, columns}, [&](std::vector<float> &to) {
                for (uint64_t i = 0; i < n; ++i)
                    for (uint64_t c = 0; c < columns; ++c)
                        for (uint64_t r = 0; r < rows; ++r)
                            to.push_back(from.data[(i * rows + r) * columns + c]);
            });
        package_.weights[name].shape = {n, columns, rows};
        return name;
    }

    std::string filled(const Operand &read) {
        std::string name = "filled";
        uint64_t all = 0;
        for (const Operand::Part &part : read.parts) {
            const uint64_t count = config_.size(part.count);
            name += "." + number_text(config_.number(part.first)) + "x" + std::to_string(count);
            if (!checked::add(all, count, &all)) all = UINT64_MAX;
        }
        return computed(name, {all}, [&](std::vector<float> &to) {
            for (const Operand::Part &part : read.parts)
                to.insert(to.end(), config_.size(part.count), static_cast<float>(config_.number(part.first)));
        });
    }

    std::string places(const Operand &read) {
        const uint64_t groups = config_.size(read.groups), stride = config_.size(read.stride),
                       repeats = config_.size(read.repeats);
        std::string name = "places";
        for (const uint64_t part : {groups, stride, repeats}) name += "." + std::to_string(part);
        uint64_t of_group = 0, n = 0;
        for (const Operand::Part &part : read.parts) {
            const uint64_t count = config_.size(part.count), each = config_.size(part.each);
            for (const uint64_t size : {config_.size(part.first), count, each})
                name += "." + std::to_string(size);
            if (!checked::mul(count, each, &n) || !checked::add(of_group, n, &of_group))
                of_group = UINT64_MAX;
        }
        return computed(name, {of_group, groups, repeats}, [&](std::vector<float> &to) {
            for (uint64_t group = 0; group < groups; ++group)
                for (uint64_t r = 0; r < repeats; ++r)
                    for (const Operand::Part &part : read.parts)
                        for (uint64_t i = 0, count = config_.size(part.count); i < count; ++i)
                            to.insert(to.end(), config_.size(part.each),
                                      static_cast<float>(group * stride + config_.size(part.first) + i));
        });
    }

    // In float32 as transformers computes them: over a long text another rounding would be another angle.
    std::string rates(uint64_t pairs) {
        const uint64_t rotated = config_.size("rotated");
        const double theta = config_.number("rope_theta");
        return computed(
            "rates." + number_text(theta) + "." + std::to_string(rotated) + "." + std::to_string(pairs),
            {pairs}, [&](std::vector<float> &to) {
                for (uint64_t i = 0; i < pairs; ++i)
                    to.push_back(2 * i < rotated
                                     ? 1.f / std::pow(static_cast<float>(theta),
                                                      static_cast<float>(2 * i) / static_cast<float>(rotated))
                                     : 0.f);
            });
    }

    // The list that `fill` makes, whose length is the product of `extents`.
    template <class Fill>
    std::string computed(const std::string &key, std::initializer_list<uint64_t> extents, const Fill &fill) {
        if (package_.weights.count(key)) return key;
        uint64_t n = 1;
        for (const uint64_t extent : extents)
            if (!checked::mul(n, extent, &n)) n = UINT64_MAX;
        if (n == 0 || n > most_elements) {
            problems_.add(key, "1 to " + std::to_string(most_elements) + " numbers",
                          n == UINT64_MAX ? "more" : std::to_string(n));
            return key;
        }
        std::vector<float> list;
        list.reserve(n);
        fill(list);
        package_.weights[key] = {{n}, FloatArray(std::move(list))};
        return key;
    }

    const Config &config_;
    std::map<std::string, std::string> first_; // nodes of the first block, by their rows
    Package &package_;
    Problems &problems_;
};

// Tensors that only computed constants were made of.
void drop_unread(Package &package) {
    std::set<std::string> read;
    for (const Node &node : package.graph)
        for (const package::NodeInput &input : node.inputs)
            if (input.tensor) read.insert(input.name);
    std::erase_if(package.weights, [&](const auto &entry) { return !read.count(entry.first); });
}

} // namespace

std::vector<std::string> skip_unread(const Config &config, std::map<std::string, Tensor> &tensors) {
    std::vector<std::string> notes;
    for (const Skipped &skipped : config.architecture->skipped) {
        const size_t count = std::erase_if(
            tensors, [&](const auto &entry) { return entry.first.starts_with(skipped.prefix); });
        if (count)
            notes.push_back("left out " + std::to_string(count) + (count == 1 ? " tensor" : " tensors") +
                            " of " + skipped.what + ", " + package::in_quotes(skipped.prefix + "*"));
    }
    return notes;
}

std::map<std::string, std::vector<uint64_t>> tensors_of(const Config &config) {
    std::map<std::string, std::vector<uint64_t>> shapes;
    for_tensors(config, [&](const TensorRow &row, const std::string &prefix) {
        if (config.holds(row.when)) shapes[prefix + row.name] = sizes_of(config, row.dims);
    });
    return shapes;
}

Expected<Package> build(const Config &config, std::map<std::string, Tensor> tensors) {
    const Architecture &of = *config.architecture;
    Problems problems;
    size_t nodes = 0;
    for (size_t block = 0; block < config.kinds.size(); ++block) nodes += config.block(block).rows.size();
    if (nodes > most_nodes) // a table with many rows and a configuration with many blocks
        return Status::input("config.json: expected blocks of at most " + std::to_string(most_nodes) +
                             " nodes together, found " + std::to_string(nodes));
    check_tensors(config, tensors, problems);
    LW_TRY(problems.status());
    LW_TRY(package::check_finite(tensors));

    Package package{.name = of.model_type};
    package.weights = std::move(tensors);
    package.inputs = {{.name = "ids",
                       .kind = package::Input::Kind::tokens,
                       .vocabulary = static_cast<uint32_t>(config.size(of.vocabulary))}};
    std::string x = "ids";
    Builder builder(config, package, problems);
    builder.add(of.before, "", of.tensors, x);
    for (size_t block = 0; block < config.kinds.size(); ++block) {
        const Block &kind = config.block(block);
        builder.add(kind.rows, prefix_of(of, block), kind.tensors, x);
    }
    builder.add(of.after, "", of.tensors, x);
    package.outputs = {{.name = "logits", .from = x}};
    LW_TRY(problems.status());
    drop_unread(package);
    return package;
}

} // namespace longwave::huggingface
