// Kernels of whole sequences: transforms there and back, circular convolution, centred convolutions
// in groups, correlation, block-diagonal products; each against its definition in float64.
#include "schedules/contract/register_transform.h"
#include "schedules/contract/twiddles.h"
#include "tests/kernels/check.h"
#include "tests/kernels/random.h"
#include <complex>
#include <map>
#include <numbers>

namespace sequence_test {

using namespace longwave::test;
namespace schedules = longwave::schedules;

namespace {

using Bin = std::complex<double>;

template <class Values> void set_all(Tensor &tensor, const Values &values) {
    for (size_t i = 0; i < values.size(); i++) {
        std::vector<int> at;
        size_t rest = i;
        for (size_t d = 0; d < tensor.arg().dims.size(); d++) {
            at.push_back(static_cast<int>(rest % tensor.arg().dims[d].extent));
            rest /= tensor.arg().dims[d].extent;
        }
        tensor.set(at, values[i]);
    }
}

struct Form {
    bool cosine;
    int length, rows, channels;
    bool by_channel = false; // x or h and y lie [channel][row]
    int bins() const { return cosine ? length : length / 2 + 1; }
    // A gpu takes all channels in one call, a CPU a tile of them.
    bool all() const { return gpu_under_test() && channels > 16; }
    std::string params() const {
        return fmt::format(R"("transform":"{}","length":{},"rows":{},"channels":{},"scale":0.25)",
                           cosine ? "cosine" : "fourier", length, rows, channels) +
               (all() ? R"(,"all":1)" : "");
    }
    // The numbers of the arguments that lie so; `y`: of the output.
    std::vector<int> rows_apart(int y) const {
        return by_channel ? std::vector<int>{0, y} : std::vector<int>{};
    }
    void tables(Kernel &k, bool inverse) const {
        const auto n = static_cast<uint32_t>(length);
        const auto shared = gpu_under_test() ? static_cast<uint64_t>(gpu_under_test()->shared_bytes) : 0;
        if (shared && schedules::shared_roots(n, shared).size > 0)
            set_all(k["twiddles"], schedules::shared_root_values(n, shared));
        else set_all(k["twiddles"], schedules::real_twiddles(n));
        if (cosine) set_all(k["cosines"], schedules::cosine_roots(n, false, inverse));
    }
};

// Roots of unity, exact in their angles. Each is computed once: a reference reads millions of them.
class Roots {
public:
    explicit Roots(const Form &form) : length_(form.length) {
        const double pi = std::numbers::pi;
        for (int i = 0; i < 4 * length_ && form.cosine; i++)
            cosines_.push_back(std::cos(pi * i / (2.0 * length_)));
        for (int i = 0; i < length_; i++) roots_.push_back(std::polar(1.0, 2 * pi * i / length_));
    }
    double cosine(int k, int t) const {
        return cosines_[static_cast<size_t>(int64_t{k} * (2 * t + 1) % (4 * length_))];
    }
    Bin root(int k, int t) const { return roots_[static_cast<size_t>(int64_t{k} * t % length_)]; }

private:
    int length_;
    std::vector<double> cosines_;
    std::vector<Bin> roots_;
};

Case forward(const Form &form, bool magnitude) {
    const int out_rows = form.by_channel ? (form.bins() + 10) / 8 * 8 : form.bins() + 3;
    return {with_channel_major(
                spec("sequence_transform", form.params() + fmt::format(R"(,"out_rows":{},"magnitude":{})",
                                                                       out_rows, magnitude ? 1 : 0)),
                form.rows_apart(form.cosine ? 3 : 2)),
            [=](Kernel &k) {
                form.tables(k, false);
                const Roots roots(form);
                const Tensor &x = k["x"];
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        if (at[2] >= form.bins()) return 0.0;
                        Bin sum = 0;
                        for (int t = 0; t < form.rows; t++)
                            sum += x.get({at[0], t}) * (form.cosine ? Bin(2 * roots.cosine(at[2], t))
                                                                    : std::conj(roots.root(at[2], t)));
                        sum *= 0.25;
                        if (form.cosine) return magnitude ? std::abs(sum.real()) : sum.real();
                        return magnitude ? std::norm(sum) : at[1] ? sum.imag() : sum.real();
                    },
                    4 * limit(form.length));
            },
            gpu_under_test() != nullptr}; // its tables lie otherwise
}

// The product of u with fixed + h, where there is one, back in time.
Case inverse(const Form &form, bool product, int parts) {
    return {
        with_channel_major(spec("sequence_inverse", form.params() + fmt::format(R"(,"product":{},"parts":{})",
                                                                                product ? 1 : 0, parts)),
                           form.rows_apart(form.cosine ? 3 : 2)),
        [=](Kernel &k) {
            form.tables(k, true);
            const int whole = form.cosine ? 1 : 2;
            const auto computed = [&](int lane, int b) {
                const auto read = [&](const std::string &name, int of) {
                    const auto part = [&](int which) {
                        return form.all() && name == "fixed" ? k[name].get({lane % 16, which, b, lane / 16})
                                                             : k[name].get({lane, which, b});
                    };
                    return Bin(part(0), of == 2 ? part(1) : 0.0);
                };
                const Bin made = parts ? read("h", parts) : Bin(0);
                return product ? read("u", whole) * (read("fixed", whole) + made) : made;
            };
            const Roots roots(form);
            std::map<int, std::vector<Bin>> of_lanes; // a lane's bins serve all its rows
            const auto bin = [&](int lane, int b) {
                auto &bins = of_lanes[lane];
                for (int i = static_cast<int>(bins.size()); i < form.bins(); i++)
                    bins.push_back(computed(lane, i));
                return bins[static_cast<size_t>(b)];
            };
            compare(
                k, "y",
                [&](const std::vector<int> &at) {
                    double sum = 0;
                    for (int b = 0; b < form.bins(); b++) {
                        const Bin value = bin(at[0], b);
                        if (form.cosine) {
                            sum += value.real() * roots.cosine(b, at[1]) / form.length * (b ? 1 : 0.5);
                        } else {
                            const bool once = b == 0 || 2 * b == form.length;
                            sum += (once ? Bin(value.real()) : 2.0 * value).real() *
                                       roots.root(b, at[1]).real() -
                                   (once ? 0.0 : 2 * value.imag()) * roots.root(b, at[1]).imag();
                        }
                    }
                    return 0.25 * sum;
                },
                4 * limit(form.length));
        },
        gpu_under_test() != nullptr}; // its tables lie otherwise
}

// The static spectrum is left zero but for a constant 1/length: the taps (1, 0, 0, …).
Case circular(int rows, int channels, bool adaptive, const std::vector<int> &channel_major = {}) {
    const auto length = static_cast<int>(schedules::right_angle_length(static_cast<uint32_t>(rows)));
    const bool all = gpu_under_test() && channels > 16;
    return {with_channel_major(
                spec("circular_conv",
                     fmt::format(R"("length":{},"rows":{},"channels":{},"adaptive":{},"scale":{}{})", length,
                                 rows, channels, adaptive ? 1 : 0, 0.5 / length, all ? R"(,"all":1)" : "")),
                channel_major),
            [=](Kernel &k) {
                using schedules::TwiddleOrder;
                const bool by_channel = !channel_major.empty();
                const std::vector<double> table = schedules::right_angle_twiddles(
                    static_cast<uint32_t>(length),
                    by_channel ? TwiddleOrder::by_factor : TwiddleOrder::by_block);
                set_all(k["twiddles"], table);
                k["fixed"].for_each(
                    [&](const std::vector<int> &at) { k["fixed"].set(at, at[1] ? 0 : 1.0 / length); });
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        const Tensor &u = k["u"];
                        double sum = u.get(at);
                        if (!adaptive) return sum;
                        const Tensor &h = k["h"];
                        for (int j = 0; j < rows; j++)
                            sum += 0.5 * h.get({at[0], j}) * u.get({at[0], (at[1] - j + rows) % rows});
                        return sum;
                    },
                    4 * limit(rows));
            },
            all};
}

// The same in the registers of a GPU's threads.
Case circular_registers(int rows, int channels, bool adaptive, const std::string &epilogue = "",
                        const std::vector<int> &channel_major = {}) {
    return {with_channel_major(spec("circular_conv_registers",
                                    fmt::format(R"("length":{},"channels":{},"adaptive":{},"scale":{})", rows,
                                                channels, adaptive ? 1 : 0, adaptive ? 0.5 / rows : 0),
                                    epilogue),
                               channel_major),
            [=](Kernel &k) {
                const auto form = schedules::register_form(
                    static_cast<uint32_t>(rows),
                    channel_major.empty() ? static_cast<uint32_t>(padded(channels)) : 1,
                    schedules::limits_of(*gpu_under_test()));
                REQUIRE(form.has_value());
                set_all(k["roots"], schedules::register_roots(form->radices));
                k["fixed"].for_each(
                    [&](const std::vector<int> &at) { k["fixed"].set(at, at[0] % 2 ? 0 : 1.0 / rows); });
                for (const char *name : {"u", "h"})
                    if (adaptive || *name == 'u') zero_padding(k[name], channels, padded(channels));
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        const Tensor &u = k["u"];
                        double sum = u.get(at);
                        const Tensor *h = adaptive ? &k["h"] : nullptr;
                        for (int j = 0; j < rows && h; j++)
                            sum += 0.5 * h->get({at[0], j}) * u.get({at[0], (at[1] - j + rows) % rows});
                        return epilogue.empty() ? sum : sum * k["mul_0"].get(at);
                    },
                    4 * limit(rows));
            },
            true};
}

Case grouped(const std::string &groups, int channels, int inputs, int outputs, int taps, int rows, int used,
             const std::vector<int> &channel_major = {}) {
    return {
        with_channel_major(
            spec("grouped_conv",
                 fmt::format(
                     R"("groups":"{}","channels":{},"inputs":{},"outputs":{},"taps":{},"rows":{},"used":{})",
                     groups, channels, inputs, outputs, taps, rows, used)),
            channel_major),
        [=](Kernel &k) {
            for (const char *name : {"x", "w", "bias"}) zero_padding(k[name], channels, padded(channels));
            compare(
                k, "y",
                [&](const std::vector<int> &at) {
                    if (at[0] >= channels || at[2] >= used) return 0.0;
                    double sum = k["bias"].get({at[0], at[1]});
                    for (int i = 0; i < inputs; i++)
                        for (int j = 0; j < taps; j++) {
                            const int row = at[2] + j - taps / 2;
                            if (row < 0 || row >= used) continue;
                            const int of_row = at[1] * channels + at[0],
                                      feature = groups == "channel" ? i * channels + at[0]
                                                : groups == "pairs" ? 2 * at[0] + i
                                                                    : of_row / 2 * 2 + i;
                            sum += k["w"].get({at[0], at[1], i, j}) *
                                   k["x"].get({feature % channels, feature / channels, row});
                        }
                    return sum;
                },
                limit(inputs * taps));
        },
        !channel_major.empty()};
}

Case correlation(int channels, int parts, const std::string &activation, bool magnitude,
                 double (*sigma)(double)) {
    return {
        spec("correlate", fmt::format(R"("channels":{},"parts":{},"rows":9,"activation":"{}","magnitude":{})",
                                      channels, parts, activation, magnitude ? 1 : 0)),
        [=](Kernel &k) {
            compare(
                k, "y",
                [&](const std::vector<int> &at) {
                    const auto read = [&](const char *name) {
                        return Bin(k[name].get({at[0], 0, at[2]}),
                                   parts == 2 ? k[name].get({at[0], 1, at[2]}) : 0.0);
                    };
                    Bin q = read("q");
                    if (magnitude) q *= sigma(std::abs(q)) / std::abs(q);
                    else q = {sigma(q.real()), parts == 2 ? sigma(q.imag()) : 0.0};
                    const Bin product = std::conj(read("k")) * q;
                    return at[1] ? product.imag() : product.real();
                },
                limit(4, 2));
        }};
}

Case blocks(int count, int in_block, int out_block, int first, int rows) {
    const int in = (first + count) * in_block, out = count * out_block;
    return {spec("block_linear",
                 fmt::format(R"("in":{},"out":{},"in_block":{},"out_block":{},"first":{},"rows":{})", in, out,
                             in_block, out_block, first * in_block, rows)),
            [=](Kernel &k) {
                for (const char *name : {"x", "w", "bias"})
                    zero_padding(k[name], name[0] == 'x' ? in : out, padded(name[0] == 'x' ? in : out));
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        if (at[0] >= out) return 0.0;
                        double sum = k["bias"].get({at[0]});
                        for (int i = 0; i < in_block; i++)
                            sum += k["w"].get({at[0], i}) *
                                   k["x"].get({(first + at[0] / out_block) * in_block + i, at[1]});
                        return sum;
                    },
                    limit(in_block));
            }};
}

} // namespace

TEST_CASE("sequence_transform: lengths of 2, 3 and 5, odd ones, other primes, zeros behind the end") {
    std::vector<Case> cases;
    int choice = 0; // on a device: both results, each of odd and of even lengths
    for (const auto &[length, rows] :
         {std::pair(1, 1), {2, 2}, {4, 3}, {45, 45}, {97, 97}, {120, 60}, {194, 97}}) {
        const bool other = choice++ % 2;
        for (const bool magnitude : {false, true})
            if (!few_on_a_gpu() || magnitude == other)
                cases.push_back(forward({false, length, rows, 8}, magnitude));
    }
    for (const int length : {1, 9, 50, 97})
        cases.push_back(forward({true, length, length, 20}, length == 50));
    run_everywhere(cases);
}

TEST_CASE("sequence_inverse: spectra, and products of spectra") {
    std::vector<Case> cases;
    for (const int length : {1, 2, 45, 97, 120, 194}) {
        cases.push_back(inverse({false, length, length, 8}, true, 2));
        cases.push_back(inverse({false, length, (length + 1) / 2, 1}, false, length % 2 ? 1 : 2));
    }
    for (const int length : {1, 9, 50}) cases.push_back(inverse({true, length, length, 20}, length > 1, 1));
    cases.push_back(inverse({true, 97, 97, 20}, true, 0));
    run_everywhere(cases);
}

TEST_CASE("transforms and grouped convolutions: rows that lie channel by channel") {
    if (!gpu_under_test()) return;
    std::vector<Case> cases;
    for (const auto &[length, rows] : {std::pair(8, 8), {240, 120}, {1024, 512}, {1000, 1000}, {176, 88}})
        for (const bool magnitude : {false, true}) {
            if (few_on_a_gpu() && magnitude != (rows == length)) continue; // what is written, on either
            cases.push_back(forward({false, length, rows, 20, true}, magnitude));
        }
    for (const auto &[length, rows] : {std::pair(8, 8), {240, 120}, {1024, 512}, {176, 88}})
        for (const int parts : {1, 2}) {
            if (few_on_a_gpu() && parts != 1 + (rows == length)) continue; // what is read, on either
            cases.push_back(inverse({false, length, rows, 20, true}, false, parts));
        }
    cases.push_back(forward({true, 56, 56, 20, true}, false));
    cases.push_back(inverse({true, 56, 56, 20, true}, false, 1));
    cases.push_back(grouped("channel", 20, 1, 2, 3, 136, 65, {0, 3}));
    cases.push_back(grouped("halves", 7, 2, 2, 3, 40, 21, {0, 3}));
    run_everywhere(cases);
}

TEST_CASE("circular_conv_registers: every length, with a kernel made in the run and without") {
    if (!gpu_under_test()) return;
    run_everywhere({circular_registers(256, 20, true, R"({"op":"mul"})"), circular_registers(256, 1, true),
                    circular_registers(512, 16, true), circular_registers(1024, 3, true),
                    circular_registers(2048, 1, true), circular_registers(512, 40, false),
                    circular_registers(4096, 2, false)});
}

TEST_CASE("circular_conv_registers: rows that lie channel by channel") {
    if (!gpu_under_test()) return;
    run_everywhere({circular_registers(2048, 3, true, R"({"op":"mul"})", {0, 1, 4, 5}),
                    circular_registers(4096, 2, true, "", {0, 1, 4}),
                    circular_registers(2048, 20, false, "", {0, 3})});
}

TEST_CASE("circular_conv_registers: 8,192 rows in 32 KiB") {
    const auto *gpu = gpu_under_test();
    if (!gpu || gpu->shared_bytes < 32 << 10) return;
    run_everywhere({circular_registers(8192, 1, true)});
}

TEST_CASE("circular_conv: what leaves at the end comes round, also where the transform is longer") {
    run_everywhere({circular(64, 8, true), circular(100, 20, true), circular(97, 8, true),
                    circular(97, 1, false), circular(2, 8, true), circular(4, 8, true), circular(72, 8, true),
                    circular(128, 20, false), circular(1024, 8, true)});
}

TEST_CASE("circular_conv: rows that lie channel by channel") {
    if (!gpu_under_test()) return;
    run_everywhere({circular(1000, 20, true, {0, 1, 4}), circular(1024, 20, false, {0, 3}),
                    circular(104, 20, true, {0, 1, 4}), circular(8, 20, true, {0, 1, 4})});
}

TEST_CASE("grouped_conv, correlate and block_linear") {
    run_everywhere({grouped("channel", 20, 1, 1, 3, 10, 10), grouped("channel", 8, 1, 2, 5, 12, 7),
                    grouped("channel", 33, 2, 2, 3, 8, 5), grouped("pairs", 7, 2, 2, 3, 9, 5),
                    grouped("halves", 7, 2, 2, 3, 9, 5), grouped("channel", 1, 1, 1, 1, 3, 1),
                    correlation(20, 2, "id", false, [](double x) { return x; }),
                    correlation(8, 2, "sigmoid", true, logistic),
                    correlation(8, 1, "sigmoid", false, logistic), blocks(4, 4, 32, 0, 7),
                    blocks(2, 24, 96, 2, 13), blocks(4, 16, 4, 0, 5), blocks(3, 5, 8, 0, 1)});
}

TEST_CASE("random: block_linear and grouped_conv") {
    Random("block_linear").run([](Random &r) {
        return blocks(r.between(1, 5), r.size(40), r.size(60), r.between(0, 2), r.rows(20));
    });
    Random("grouped_conv").run([](Random &r) {
        const int rows = r.rows(30);
        return grouped("channel", r.size(40), r.between(1, 2), r.between(1, 2), 2 * r.between(0, 2) + 1, rows,
                       r.between(1, rows));
    });
}

} // namespace sequence_test
