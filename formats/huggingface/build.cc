#include "formats/huggingface/build.h"
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
    for (uint64_t block = 0; block < config.size(of.blocks); ++block)
        for (const TensorRow &row : of.block_tensors) use(row, prefix_of(of, block));
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

void check_tensors(const Config &config, std::map<std::string, Tensor> &tensors, Problems &problems) {
    std::set<std::string> known;
    for_tensors(config, [&](const TensorRow &row, const std::string &prefix) {
        const std::string key = prefix + row.name;
        if (!config.holds(row.when)) {
            if (!row.instead.empty()) drop_copy(key, prefix + row.instead, tensors, problems);
            return;
        }
        known.insert(key);
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
                else if (const std::string key = key_of(read, prefix, tensors); !key.empty())
                    node.inputs.push_back({key, true});
            }
            made[row.name] = x = node.name;
            package_.graph.push_back(std::move(node));
        }
    }

private:
    nlohmann::json value_of(const Attribute &attribute) const {
        switch (attribute.kind) {
        case Attribute::Kind::number: return config_.numbers.at(attribute.of);
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
        using Kind = Operand::Kind;
        const auto here = [&](const std::string &sum) { return config_.size(sum); };
        const std::string key = stored(read.name, prefix, tensors);
        switch (read.kind) {
        case Kind::value:
        case Kind::tensor: return key;
        case Kind::minus_exp:
            return computed(key + ".minus_exp", 1, package_.weights[key].data.size(), 1,
                            [&](uint64_t i) { return -std::exp(double{package_.weights[key].data[i]}); });
        case Kind::spread:
            return computed(key + ".spread", 1, package_.weights[key].data.size(), here(read.each),
                            [&](uint64_t i) { return package_.weights[key].data[i]; });
        case Kind::zeros:
            return computed("zeros." + std::to_string(here(read.count)), 1, here(read.count), 1,
                            [](uint64_t) { return 0; });
        case Kind::ones:
            return computed("ones." + std::to_string(here(read.count)), 1, here(read.count), 1,
                            [](uint64_t) { return 1; });
        case Kind::places: break;
        }
        const uint64_t first = here(read.first), count = here(read.count), each = here(read.each),
                       times = here(read.times);
        std::string name = "places";
        for (const uint64_t part : {first, count, each, times}) name += "." + std::to_string(part);
        return computed(name, times, count, each, [&](uint64_t i) { return first + i; });
    }

    // A list of of(0), each `each` times, of(1) and so on, all that `times` times.
    template <class Of> std::string computed(const std::string &key, uint64_t times, uint64_t count,
                                             uint64_t each, const Of &of) {
        if (package_.weights.count(key)) return key;
        const auto fits = [](uint64_t n) { return n > 0 && n <= most_elements; };
        if (!fits(times) || !fits(count) || !fits(each) || !fits(count * each) ||
            !fits(count * each * times)) {
            problems_.add(key, "at most " + std::to_string(most_elements) + " numbers",
                          std::to_string(times) + " times " + std::to_string(count) + " times " +
                              std::to_string(each));
            return key;
        }
        std::vector<float> list;
        list.reserve(times * count * each);
        for (uint64_t t = 0; t < times; ++t)
            for (uint64_t i = 0; i < count; ++i) list.insert(list.end(), each, static_cast<float>(of(i)));
        const uint64_t n = list.size();
        package_.weights[key] = {{n}, FloatArray(std::move(list))};
        return key;
    }

    const Config &config_;
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
    const uint64_t blocks = config.size(of.blocks), nodes = blocks * of.block.size();
    if (nodes > most_nodes) // a table with many rows and a configuration with many blocks
        return Status::input(of.blocks + ": expected at most " +
                             std::to_string(most_nodes / of.block.size()) + ", found " +
                             std::to_string(blocks));
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
    for (uint64_t block = 0; block < blocks; ++block)
        builder.add(of.block, prefix_of(of, block), of.block_tensors, x);
    builder.add(of.after, "", of.tensors, x);
    package.outputs = {{.name = "logits", .from = x}};
    LW_TRY(problems.status());
    drop_unread(package);
    return package;
}

} // namespace longwave::huggingface
