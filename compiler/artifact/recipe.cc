#include "compiler/artifact/recipe.h"
#include "compiler/artifact/identity.h"
#include "formats/artifact/recipe.h"
#include "formats/artifact/recipe_schema.h"
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <set>

namespace longwave::compiler {

namespace {

// Probes are the float32 from 1/2 on whose last bit is set: few constants of a kernel look so, and
// sums of a few stay finite.
constexpr uint32_t first_probe = 0x3f000001, most_probes = 1u << 25;

float probe(uint64_t number) { return std::bit_cast<float>(static_cast<uint32_t>(first_probe + 2 * number)); }

// The number of a probe, whatever its sign.
std::optional<uint32_t> number_of(double value) {
    const auto narrow = static_cast<float>(std::fabs(value));
    const uint32_t bits = std::bit_cast<uint32_t>(narrow);
    if (double{narrow} != std::fabs(value) || bits < first_probe || bits % 2 == 0) return std::nullopt;
    const uint32_t number = (bits - first_probe) / 2;
    return number < most_probes ? std::optional(number) : std::nullopt;
}

// Equal elements at equal distances, in up to four loops: elements, then rows of them, and so on.
struct Run {
    uint32_t tensor = 0;
    bool negative = false;
    uint64_t from = 0, to = 0;
    std::array<uint32_t, 4> counts{1, 1, 1, 1};
    std::array<int32_t, 4> from_steps{}, to_steps{};

    bool like(const Run &other) const {
        return tensor == other.tensor && negative == other.negative && counts == other.counts &&
               from_steps == other.from_steps && to_steps == other.to_steps;
    }
};

// Puts neighbours at equal distances into one loop more.
std::vector<Run> looped(const std::vector<Run> &runs, size_t loop) {
    std::vector<Run> made;
    const auto distance = [](uint64_t a, uint64_t b) { return static_cast<int64_t>(b - a); };
    const auto fits = [](int64_t step) { return step == static_cast<int32_t>(step); };
    for (size_t i = 0; i < runs.size();) {
        Run run = runs[i];
        size_t end = i + 1;
        if (end < runs.size() && runs[end].like(run)) {
            const int64_t from = distance(run.from, runs[end].from), to = distance(run.to, runs[end].to);
            while (fits(from) && fits(to) && end < runs.size() && runs[end].like(run) &&
                   distance(runs[end - 1].from, runs[end].from) == from &&
                   distance(runs[end - 1].to, runs[end].to) == to)
                end++;
            if (end > i + 1) {
                run.counts[loop] = static_cast<uint32_t>(end - i);
                run.from_steps[loop] = static_cast<int32_t>(from);
                run.to_steps[loop] = static_cast<int32_t>(to);
            }
        }
        made.push_back(run);
        i = end;
    }
    return made;
}

// Reads what was stored as numbers. Words that are no floats are compared as they are.
struct Reader {
    Elem elem;
    const uint8_t *bytes;
    template <class T> T at(size_t i) const {
        T value;
        std::memcpy(&value, bytes + i * sizeof value, sizeof value);
        return value;
    }
    double number(size_t i) const { return elem == Elem::f64 ? at<double>(i) : double{at<float>(i)}; }
};

class RecipeMaker {
public:
    explicit RecipeMaker(const std::map<std::string, package::Tensor> &weights) {
        uint64_t first = 0;
        for (const auto &[name, tensor] : weights) {
            auto t = std::make_unique<fb::RecipeTensorT>();
            t->name = name;
            t->shape = tensor.shape;
            recipe_.tensors.push_back(std::move(t));
            numbers_.push_back(&tensor.data);
            first_.push_back(first);
            first += tensor.data.size();
        }
        all_ = first;
    }

    void add(const StoredNumbers &stored, const StoredNumbers &probed) {
        const bool floats = stored.elem == Elem::f32 || stored.elem == Elem::f64;
        const Reader actual{stored.elem, stored.part.bytes.data()},
            probes{stored.elem, probed.part.bytes.data()};
        if (!floats) {
            if (stored.part.bytes != probed.part.bytes) mixed_.insert(stored.name);
            return;
        }
        const size_t width = bytes_of(stored.elem), n = stored.part.bytes.size() / width;
        std::vector<Run> runs;
        for (size_t i = 0; i < n; i++) {
            std::optional<Run> run = source(probes.number(i), actual.number(i));
            if (run) {
                run->to = stored.part.offset / width + i;
                runs.push_back(*run);
            } else if (std::memcmp(actual.bytes + i * width, probes.bytes + i * width, width) != 0) {
                mixed_.insert(stored.name);
                return;
            }
        }
        for (size_t loop = 0; loop < 4; loop++) runs = looped(runs, loop);
        for (const Run &run : runs) recipe_.copies.push_back(copy(run, stored.elem));
    }

    Expected<std::vector<uint8_t>> finish(const std::map<std::string, std::string> &parameters,
                                          const std::string &rounding) && {
        if (!mixed_.empty()) return refused();
        if (recipe_.copies.size() > artifact::cap::copies)
            return Status::input(
                fmt::format("--pack: the weights take {} copies, and a recipe has at most {}",
                            recipe_.copies.size(), artifact::cap::copies));
        for (const auto &[name, key] : parameters) {
            auto parameter = std::make_unique<fb::RecipeParameterT>();
            parameter->name = name;
            const auto of = std::lower_bound(recipe_.tensors.begin(), recipe_.tensors.end(), key,
                                             [](const auto &t, const std::string &k) { return t->name < k; });
            parameter->tensor = static_cast<uint32_t>(of - recipe_.tensors.begin());
            recipe_.parameters.push_back(std::move(parameter));
        }
        recipe_.rounding = rounding;
        recipe_.golden_from = fb::GoldenFrom::reference;
        flatbuffers::FlatBufferBuilder builder;
        builder.Finish(fb::Recipe::Pack(builder, &recipe_), fb::RecipeIdentifier());
        return std::vector<uint8_t>(builder.GetBufferPointer(),
                                    builder.GetBufferPointer() + builder.GetSize());
    }

private:
    // Where a stored number comes from, if it is one of the package and not of the shape.
    std::optional<Run> source(double probed, double actual) const {
        const auto number = number_of(probed);
        if (!number || *number >= all_) return std::nullopt;
        const size_t t =
            static_cast<size_t>(std::upper_bound(first_.begin(), first_.end(), *number) - first_.begin()) - 1;
        Run run;
        run.tensor = static_cast<uint32_t>(t);
        run.from = *number - first_[t];
        run.negative = std::signbit(probed);
        const double given = (*numbers_[t])[run.from];
        if (actual != (run.negative ? -given : given)) return std::nullopt;
        return run;
    }

    static fb::Copy copy(const Run &run, Elem elem) {
        return fb::Copy(run.from, run.to, run.counts, run.from_steps, run.to_steps, run.tensor,
                        elem == Elem::f64 ? fb::CopyElem::f64 : fb::CopyElem::f32, run.negative);
    }

    Status refused() const {
        std::string lines;
        for (const std::string &name : mixed_)
            lines += fmt::format("{}--pack: layer {}: what it stores is computed from several numbers of the "
                                 "model, or rounded, and is no copy of one; compile without --pack",
                                 lines.empty() ? "" : "\n", name);
        return Status::input(lines);
    }

    fb::RecipeT recipe_;
    std::vector<const FloatArray *> numbers_;
    std::vector<uint64_t> first_; // number of the first probe of each tensor
    uint64_t all_ = 0;
    std::set<std::string> mixed_;
};

} // namespace

Expected<package::Package> with_probes(const package::Package &package) {
    package::Package probed = package;
    uint64_t number = 0;
    for (auto &[name, tensor] : probed.weights) {
        std::vector<float> values(tensor.data.size());
        if (number + values.size() > most_probes)
            return Status::usage(fmt::format(
                "--pack: the model has more than {} numbers; compile without --pack", most_probes));
        for (float &value : values) value = probe(number++);
        tensor.data = std::move(values);
    }
    return probed;
}

Expected<std::vector<uint8_t>> make_recipe(const package::Package &package, const std::string &rounding,
                                           const Storage &stored, const Storage &probed) {
    RecipeMaker maker(package.weights);
    for (size_t i = 0; i < stored.stored().size(); i++) maker.add(stored.stored()[i], probed.stored()[i]);
    return std::move(maker).finish(parameters_of(package), rounding);
}

} // namespace longwave::compiler
