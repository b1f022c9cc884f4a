#include "schedules/panels.h"
#include "tests/bench/linear/contestant.h"
#include "tests/schedules/kernel_call.h"
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
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
    Ours(const Product &p, const test::Kernel &kernel)
        : Contestant("longwave"), kernel_(kernel), row_(schedules::pad(static_cast<uint32_t>(p.out))),
          y_(row_ * static_cast<size_t>(p.rows)), panels_{static_cast<uint32_t>(p.in),
                                                          static_cast<uint32_t>(p.out), p.gated ? 2u : 1u},
          w_(panels_.size()), bias_(row_ * panels_.halves) {
        for (size_t o = 0; o < p.outputs(); o++)
            for (uint32_t i = 0; i < panels_.in; i++)
                w_[panels_.at(static_cast<uint32_t>(o % panels_.out), static_cast<uint32_t>(o / panels_.out),
                              i)] = p.w[o * panels_.in + i];
        auto bytes = [](const float *f) { return reinterpret_cast<uint8_t *>(const_cast<float *>(f)); };
        kernel_.prepare({{"x", bytes(p.x.data())},
                         {"w", bytes(w_.data())},
                         {"bias", bytes(bias_.data())},
                         {"y", bytes(y_.data())}});
    }
    void run() override { kernel_.call_prepared(); }
    const float *result() const override { return y_.data(); }
    size_t result_row() const override { return row_; }

private:
    test::Kernel kernel_;
    size_t row_;
    Floats y_;
    schedules::Panels panels_;
    Floats w_, bias_;
};

using Sgemm = void (*)(const char *, const char *, const int *, const int *, const int *, const float *,
                       const float *, const int *, const float *, const int *, const float *, float *,
                       const int *);

// y = x·wᵀ, with weights of its own: a copy that others read too would be warmer than theirs.
class Blas : public Contestant {
public:
    Blas(const Product &p, const std::string &library, Sgemm sgemm)
        : Contestant(library), sgemm_(sgemm), in_(p.in), out_(static_cast<int>(p.outputs())), rows_(p.rows),
          x_(p.x.data()), w_(p.outputs() * static_cast<size_t>(p.in)),
          y_(p.outputs() * static_cast<size_t>(p.rows)) {
        std::memcpy(w_.data(), p.w.data(), p.outputs() * static_cast<size_t>(p.in) * sizeof(float));
    }
    void run() override {
        const float one = 1, zero = 0;
        sgemm_("T", "N", &out_, &rows_, &in_, &one, w_.data(), &in_, x_, &in_, &zero, y_.data(), &out_);
    }
    const float *result() const override { return y_.data(); }
    size_t result_row() const override { return static_cast<size_t>(out_); }

private:
    Sgemm sgemm_;
    int in_, out_, rows_;
    const float *x_;
    Floats w_, y_;
};

class Reader : public Contestant {
public:
    explicit Reader(const Product &p)
        : Contestant("read"), size_(p.outputs() * static_cast<size_t>(p.in)), w_(size_) {
        std::memcpy(w_.data(), p.w.data(), size_ * sizeof(float));
    }
    void run() override {
        uint64_t sums[64]{};
        const auto *words = reinterpret_cast<const char *>(w_.data());
        for (size_t i = 0; i + sizeof sums <= size_ * sizeof(float); i += sizeof sums) {
            uint64_t line[64];
            std::memcpy(line, words + i, sizeof line);
            for (size_t j = 0; j < 64; j++) sums[j] ^= line[j];
        }
        volatile uint64_t sink = 0;
        for (uint64_t sum : sums) sink = sink ^ sum;
    }
    const float *result() const override { return nullptr; }
    size_t result_row() const override { return 0; }

private:
    size_t size_;
    Floats w_;
};

} // namespace

Expected<std::unique_ptr<Contestant>> ours(const Product &p, const targets::Target &target,
                                           const std::string &kgen) {
    const std::string spec =
        fmt::format(R"({{"kernel":"linear","params":{{"in":{},"out":{},"rows":{},"bias":1,"glu":{}}}}})",
                    p.in, p.out, p.rows, p.gated ? 1 : 0);
    LW_ASSIGN(auto kernels, test::load_kernels({spec}, target, kgen.empty() ? test::find_kgen() : kgen));
    return std::unique_ptr<Contestant>(std::make_unique<Ours>(p, kernels[0]));
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

std::unique_ptr<Contestant> reader(const Product &p) { return std::make_unique<Reader>(p); }

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
