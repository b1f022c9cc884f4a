#include "schedules/contract/panels.h"
#include "tests/bench/linear/contestant.h"
#include "tests/kernels/kernel_call.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <numeric>
#include <random>

namespace longwave::bench {

Product::Product(int in_, int out_, int rows_, bool gated_)
    : in(in_), out(out_), rows(rows_), gated(gated_),
      x(static_cast<size_t>(in_) * static_cast<size_t>(rows_)),
      w(static_cast<size_t>(in_) * static_cast<size_t>(out_) * (gated_ ? 2 : 1)) {
    std::minstd_rand random(static_cast<uint32_t>(in + out + rows));
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (size_t i = 0; i < static_cast<size_t>(in) * static_cast<size_t>(rows); i++) x[i] = uniform(random);
    for (size_t i = 0; i < static_cast<size_t>(in) * outputs(); i++) w[i] = uniform(random);
}

namespace {

class Ours : public Contestant {
public:
    Ours(const Product &p, const Variant &variant, float steps, const test::Kernel &kernel)
        : Contestant(variant.name()), p_(p), kernel_(kernel), steps_(1),
          packed_(
              {static_cast<uint32_t>(p.in), static_cast<uint32_t>(p.out), p.gated ? 2u : 1u, variant.format}),
          row_(schedules::pad(packed_.panels.out)), y_(row_ * static_cast<size_t>(p.rows)),
          w_(packed_.words.size()), bias_(row_ * packed_.panels.halves) {
        const size_t in = packed_.panels.in, out = packed_.panels.out;
        std::vector<uint32_t> inputs(in);
        std::iota(inputs.begin(), inputs.end(), 0u);
        for (size_t o = 0; o < p.outputs(); o++) {
            const std::vector<double> row(p.w.data() + o * in, p.w.data() + (o + 1) * in);
            packed_.set(static_cast<uint32_t>(o % out), static_cast<uint32_t>(o / out), row, inputs);
        }
        std::memcpy(w_.data(), packed_.words.data(), packed_.words.size() * sizeof(uint32_t));
        steps_[0] = steps;
        auto bytes = [](const float *f) { return reinterpret_cast<uint8_t *>(const_cast<float *>(f)); };
        kernel_.prepare({{"x", bytes(p.x.data())},
                         {"w", bytes(w_.data())},
                         {"scale", bytes(packed_.scales.data())},
                         {"steps", bytes(steps_.data())},
                         {"bias", bytes(bias_.data())},
                         {"y", bytes(y_.data())}});
    }
    void run() override { kernel_.call_prepared(); }
    const float *result() const override { return y_.data(); }
    size_t result_row() const override { return row_; }
    double weight(size_t at) const override {
        const schedules::Panels &panels = packed_.panels;
        if (panels.format == schedules::WeightFormat::float32) return p_.w[at];
        if (panels.format == schedules::WeightFormat::bf16) return schedules::nearest_bf16(p_.w[at]);
        const size_t output = at / panels.in;
        if (panels.format == schedules::WeightFormat::int4) {
            const auto o = static_cast<uint32_t>(output % panels.out),
                       half = static_cast<uint32_t>(output / panels.out);
            const auto group = static_cast<uint32_t>(at % panels.in / schedules::int4_group);
            const float scale = packed_.scales[panels.scale_at(o, half, group)];
            return double{scale} * schedules::int4_steps(p_.w[at], scale);
        }
        const float scale = packed_.scales[output / panels.out * row_ + output % panels.out];
        return double{scale} * schedules::int8_steps(p_.w[at], scale);
    }
    size_t weight_bytes() const override {
        return (packed_.words.size() + packed_.scales.size()) * sizeof(uint32_t);
    }

private:
    const Product &p_;
    test::Kernel kernel_;
    Floats steps_;
    schedules::PackedPanels packed_;
    size_t row_;
    Floats y_, w_, bias_; // words of weights lie on a cache line
};

using Sgemm = void (*)(const char *, const char *, const int *, const int *, const int *, const float *,
                       const float *, const int *, const float *, const int *, const float *, float *,
                       const int *);

// y = x·wᵀ, with weights of its own: a copy that others read too would be warmer than theirs.
class Blas : public Contestant {
public:
    Blas(const Product &p, const std::string &library, Sgemm sgemm)
        : Contestant(library), p_(p), sgemm_(sgemm), in_(p.in), out_(static_cast<int>(p.outputs())),
          rows_(p.rows), x_(p.x.data()), w_(p.outputs() * static_cast<size_t>(p.in)),
          y_(p.outputs() * static_cast<size_t>(p.rows)) {
        std::memcpy(w_.data(), p.w.data(), p.outputs() * static_cast<size_t>(p.in) * sizeof(float));
    }
    void run() override {
        const float one = 1, zero = 0;
        sgemm_("T", "N", &out_, &rows_, &in_, &one, w_.data(), &in_, x_, &in_, &zero, y_.data(), &out_);
    }
    const float *result() const override { return y_.data(); }
    size_t result_row() const override { return static_cast<size_t>(out_); }
    double weight(size_t at) const override { return p_.w[at]; }
    size_t weight_bytes() const override {
        return static_cast<size_t>(in_) * static_cast<size_t>(out_) * sizeof(float);
    }

private:
    const Product &p_;
    Sgemm sgemm_;
    int in_, out_, rows_;
    const float *x_;
    Floats w_, y_;
};

// Eight sums of a cache line each, in the widest vectors of this CPU.
__attribute__((target_clones("avx512f", "avx2", "default"))) uint64_t read_all(const char *from,
                                                                               size_t bytes) {
    using Line = uint64_t __attribute__((vector_size(64)));
    Line sums[8]{};
    for (size_t i = 0; i + sizeof sums <= bytes; i += sizeof sums)
        for (size_t j = 0; j < 8; j++) {
            Line line;
            std::memcpy(&line, from + i + j * sizeof line, sizeof line);
            sums[j] ^= line;
        }
    uint64_t all = 0;
    for (const Line &sum : sums)
        for (size_t j = 0; j < 8; j++) all ^= sum[j];
    return all;
}

class Reader : public Contestant {
public:
    explicit Reader(size_t bytes) : Contestant("read"), bytes_(bytes), w_(bytes / sizeof(float) + 1) {
        std::memset(w_.data(), 1, bytes);
    }
    void run() override {
        volatile uint64_t sink = read_all(reinterpret_cast<const char *>(w_.data()), bytes_);
        (void)sink;
    }
    const float *result() const override { return nullptr; }
    size_t result_row() const override { return 0; }
    double weight(size_t) const override { return 0; }
    size_t weight_bytes() const override { return bytes_; }

private:
    size_t bytes_;
    Floats w_;
};

} // namespace

std::string Variant::name() const {
    return std::string(schedules::name_of(format)) + (float_activations  ? ", float32 activations"
                                                      : byte_activations ? ", int8 activations"
                                                                         : "");
}

// Of all outputs; 0: rows are not quantised.
static int steps_of(const Product &p, const Variant &variant) {
    if (variant.byte_activations && p.out > 1) return schedules::byte_activation_steps;
    if (variant.format == schedules::WeightFormat::int4 && p.out > 1) return schedules::most_activation_steps;
    if (variant.format != schedules::WeightFormat::int8 || variant.float_activations || p.out == 1) return 0;
    const auto in = static_cast<size_t>(p.in);
    uint64_t heaviest = 0;
    for (size_t o = 0; o < p.outputs(); o++) {
        const std::vector<double> row(p.w.data() + o * in, p.w.data() + (o + 1) * in);
        heaviest = std::max(heaviest, schedules::int8_heaviness(row));
    }
    return schedules::activation_steps(heaviest);
}

Expected<std::unique_ptr<Contestant>> ours(const Product &p, const Variant &variant,
                                           const targets::Target &target, const std::string &kgen) {
    const int steps = steps_of(p, variant);
    const std::string spec = fmt::format(
        R"({{"kernel":"linear","params":{{"in":{},"out":{},"rows":{},"bias":1,"glu":{},"weights":"{}"{}}}}})",
        p.in, p.out, p.rows, p.gated ? 1 : 0, schedules::name_of(variant.format),
        variant.byte_activations ? R"(,"activations":"int8")"
        : steps                  ? R"(,"activations":"int16")"
                                 : "");
    LW_ASSIGN(auto kernels, test::load_kernels({spec}, target, kgen.empty() ? test::find_kgen() : kgen));
    return std::unique_ptr<Contestant>(
        std::make_unique<Ours>(p, variant, static_cast<float>(steps), kernels[0]));
}

Expected<std::unique_ptr<Contestant>> blas(const Product &p, const std::string &library) {
    const size_t equals = library.find('=');
    const std::string name = library.substr(0, equals);
    const std::string file = equals != std::string::npos ? library.substr(equals + 1)
                             : name == "openblas"        ? "libopenblas.so.0"
                                                         : "lib" + name + ".so";
    void *handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!handle)
        return Status::usage(fmt::format("{}: install it (Debian: libopenblas0-pthread), or name the file: "
                                         "--against {}=FILE",
                                         dlerror(), name));
    const auto sgemm = reinterpret_cast<Sgemm>(dlsym(handle, "sgemm_"));
    if (!sgemm) return Status::usage(file + " has no sgemm_");
    return std::unique_ptr<Contestant>(std::make_unique<Blas>(p, name, sgemm));
}

std::unique_ptr<Contestant> reader(size_t bytes) { return std::make_unique<Reader>(bytes); }

void restrict_blas(const targets::Target &target) {
    for (const char *name : {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"})
        setenv(name, "1", 1);
    if (target.vector_lanes == 16) setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
    if (target.vector_lanes == 8) {
        setenv("OPENBLAS_CORETYPE", "Haswell", 1);
        setenv("MKL_ENABLE_INSTRUCTIONS", "AVX2", 1);
    }
    if (target.vector_lanes == 4) {
        setenv("OPENBLAS_CORETYPE", "Nehalem", 1);
        setenv("MKL_ENABLE_INSTRUCTIONS", "SSE4_2", 1);
    }
}

} // namespace longwave::bench
