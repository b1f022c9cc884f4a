// Long convolutions of few channels, with lanes over positions, against their definition; and the
// pieces that large partitions are computed in, with lanes over positions and over channels.
#include "schedules/contract/twiddles.h"
#include "tests/kernels/check.h"

namespace position_vectorized_test {

using namespace longwave::test;

namespace {

constexpr int group = 16; // bins of spectra that lie side by side

double tone(int b, int n, int channel) { return std::sin(0.7 * (b + 1) * (n + 3) + 1.3 * channel); }

template <class Values> void set_table(Kernel &k, const Values &table) {
    for (size_t i = 0; i < table.size(); i++) k["twiddles"].set({static_cast<int>(i)}, table[i]);
}

std::string spectrum_spec(int length, int rows, int partitions, int taps, int copies, int channels,
                          bool lanes) {
    return spec(
        "spectrum",
        fmt::format(R"("length":{},"rows":{},"partitions":{},"taps":{},"copies":{},"channels":{},"lanes":{})",
                    length, rows, partitions, taps, copies, channels, int(lanes)));
}

struct Lanes {
    int block, partitions, taps, channels, copies = 1;
    int added = 0; // inputs
    bool relu = false;
    int longer = 0; // length of the transform; 0: that of the block
    int length() const { return longer ? longer : block; }
};

// A stream of blocks: the case that makes the spectrum, and the one that uses it.
std::vector<Case> lanes(const Lanes &of) {
    auto taps = std::make_shared<Tensor>(), made = std::make_shared<Tensor>();
    Case first{spectrum_spec(of.length(), of.block, of.partitions, of.taps, of.copies, of.channels, true),
               [=](Kernel &k) {
                   set_table(k,
                             longwave::schedules::right_angle_twiddles(static_cast<uint32_t>(of.length())));
                   REQUIRE(k.call() == 0);
                   *taps = k["k"], *made = k["spectrum"];
               }};
    std::vector<int> added; // strides
    for (int n = 0; n < of.added; n++) added.push_back((4 << n) * of.block);
    const auto check = [=](Kernel &k) {
        set_table(k, longwave::schedules::lane_twiddles(static_cast<uint32_t>(of.length())));
        k["spectrum"].for_each([&](const std::vector<int> &at) { k["spectrum"].set(at, made->get(at)); });
        for (const char *zero : {"past", "tail"})
            k[zero].for_each([&](const std::vector<int> &at) { k[zero].set(at, 0); });
        const int row = padded(of.channels);
        std::vector<std::vector<double>> u(of.channels);
        double difference = 0, size = 0;
        for (int b = 0; b < 2 * of.partitions + 1; b++) {
            for (int c = 0; c < of.channels; c++)
                for (int n = 0; n < of.block; n++) {
                    k["u"].set({c, n}, tone(b, n, c));
                    u[c].push_back(k["u"].get({c, n}));
                }
            const int slot = b % of.partitions;
            k.scalar("slot") = slot;
            // `newest` is that slot of `past`, as in the runtime's memory.
            k.prepare({{"newest", k["past"].data() + size_t{4} * 2 * group * slot}});
            REQUIRE(k.call_prepared() == 0);
            k["tail"].for_each([&](const std::vector<int> &at) { k["tail"].set(at, k["tail_out"].get(at)); });
            const Tensor &y = k["y"];
            y.for_each([&](const std::vector<int> &at) {
                const int copy = of.channels == 1 ? at[0] : at[0] / row,
                          c = of.channels == 1 ? 0 : at[0] % row;
                const double found = y.get(at);
                if (copy >= of.copies || c >= of.channels) {
                    if (found != 0) FAIL_CHECK("lane ", at[0], " is none");
                    return;
                }
                if (at[1] % 7) return;
                const int t = b * of.block + at[1];
                double sum = 0;
                for (int n = 0; n < of.added; n++)
                    sum += k[fmt::format("added_{}", n)].get({0, at[1], copy, c});
                for (int j = 0; j <= t && j < of.taps; j++) sum += taps->get({c, copy, j}) * u[c][t - j];
                if (of.relu) sum = std::max(sum, 0.0);
                difference += std::pow(sum - found, 2), size += sum * sum;
            });
        }
        const double error = std::sqrt(difference / size);
        INFO("error ", error);
        CHECK(error <= 3e-7);
    };
    return {first,
            {spec("long_conv_lanes",
                  fmt::format(
                      R"("block":{},"length":{},"partitions":{},"copies":{},"channels":{},"added":[{}])",
                      of.block, of.length(), of.partitions, of.copies, of.channels, fmt::join(added, ",")),
                  of.relu ? R"({"op":"relu"})" : ""),
             check}};
}

void run_lanes(const std::vector<Lanes> &list) {
    std::vector<Case> cases;
    for (const Lanes &one : list)
        for (const Case &c : lanes(one)) cases.push_back(c);
    run_everywhere(cases, {.together = 2});
}

// A large partition in pieces. `tile`: lanes over so many channels; 0: over the positions of one.
struct Pieces {
    int length, partitions, taps, tile, cut, slices, copies = 1;
    int shorter = 0; // rows of the large block; 0: as many as the transform has points
    int rows() const { return shorter ? shorter : length; }
};

std::vector<std::string> piece_specs(const Pieces &p) {
    const bool lanes = p.tile == 0;
    const std::string name = lanes ? "long_conv_lanes_" : "long_conv_",
                      shape = lanes ? fmt::format(R"("length":{})", p.length)
                                    : fmt::format(R"("length":{},"channels":{},"copies":{})", p.length,
                                                  p.tile, p.copies);
    const int levels =
        static_cast<int>(longwave::schedules::right_angle_radices(static_cast<uint32_t>(p.length)).size());
    const auto part = [&](int first, int last) {
        return fmt::format(R"({},"rows":{},"first":{},"last":{})", shape, p.rows(), first, last);
    };
    const int positions = p.length / p.slices;
    return {spectrum_spec(p.length, p.rows(), p.partitions, p.taps, p.copies, lanes ? 1 : p.tile, lanes),
            spec(name + "forward", part(0, p.cut)),
            spec(name + "forward", part(p.cut, levels) + (lanes ? R"(,"partitions":1)" : "")),
            spec(name + "product",
                 lanes ? fmt::format(R"("bins":{},"partitions":{})", positions, p.partitions)
                       : fmt::format(R"({},"positions":{},"partitions":{})", shape, positions, p.partitions)),
            spec(name + "inverse", part(p.cut, levels)),
            spec(name + "inverse", part(0, p.cut))};
}

// Copies every element of an argument into another of the same extents.
void hand_over(Kernel &from, const char *out, Kernel &to, const char *in) {
    const Tensor &source = from[out];
    Tensor &copy = to[in];
    source.for_each([&](const std::vector<int> &at) { copy.set(at, source.get(at)); });
}
void hand_over(Kernel &from, Kernel &to, bool lanes, const char *in) {
    if (!lanes) return hand_over(from, "out", to, in);
    hand_over(from, "re_out", to, "re");
    hand_over(from, "im_out", to, "im");
}

// The products, slice by slice, with the ring and the spectrum of all positions.
void multiply(const Pieces &p, Kernel &product, Kernel &spectrum, const std::vector<Tensor> &ring,
              Kernel &to) {
    const int each = p.length / p.slices;
    for (int slice = 0; slice < p.slices; slice++) {
        // [lane, part, partition, position] or [lane of a group, part, partition, group]
        const int before = p.tile == 0 ? slice * each / group : slice * each;
        Tensor &all_past = product["past"], &part = product["spectrum"], &whole = spectrum["spectrum"];
        all_past.for_each([&](const std::vector<int> &at) {
            const Tensor &past = ring[static_cast<size_t>(at[2])];
            all_past.set(at, past.get({at[0], at[1], at[3] + before}));
        });
        part.for_each([&](const std::vector<int> &at) {
            const int copy = p.tile == 0 ? 0 : at[4];
            std::vector<int> from{at[0], at[1], at[2], at[3] + before, copy};
            if (p.tile == 0) from.push_back(0);
            part.set(at, whole.get(from));
        });
        REQUIRE(product.call() == 0);
        if (p.tile == 0)
            for (const auto &[out, in] : {std::pair{"re_out", "re"}, std::pair{"im_out", "im"}})
                for (int i = 0; i < each; i++) to[in].set({i + slice * each}, product[out].get({i}));
        else
            product["z"].for_each([&](const std::vector<int> &at) {
                to["z"].set({at[0], at[1], at[2] + slice * each, at[3]}, product["z"].get(at));
            });
    }
}

void check_pieces(const Pieces &p, std::vector<Kernel> &k) {
    const bool lanes = p.tile == 0;
    const auto length = static_cast<uint32_t>(p.length);
    for (size_t i = 0; i < k.size(); i++) {
        k[i].fill_inputs(static_cast<uint32_t>(i + 1));
        if (i == 3) continue;
        if (i > 0 && lanes) set_table(k[i], longwave::schedules::lane_twiddles(length));
        else set_table(k[i], longwave::schedules::right_angle_twiddles(length));
    }
    Kernel &spectrum = k[0], &first = k[1], &second = k[2], &product = k[3], &inverse = k[4], &last = k[5];
    REQUIRE(spectrum.call() == 0);
    last["tail"].for_each([&](const std::vector<int> &at) { last["tail"].set(at, 0); });
    const int tile = lanes ? 1 : p.tile;
    const auto u_at = [&](int c, int n) { return std::vector<int>{lanes ? 0 : c, n}; };
    // A spectrum of the ring as the forward piece gives it: [lane, part, group or position].
    longwave::schedules::KernelArg shape;
    for (int extent : lanes ? std::vector{group, 2, p.length / group} : std::vector{tile, 2, p.length})
        shape.dims.push_back(
            {static_cast<uint32_t>(extent),
             shape.dims.empty() ? 1
                                : shape.dims.back().stride * static_cast<int32_t>(shape.dims.back().extent)});
    std::vector<Tensor> ring;
    for (int i = 0; i < p.partitions; i++) ring.emplace_back(shape);
    std::vector<std::vector<double>> u(tile);
    double difference = 0, size = 0;
    const Tensor &of_taps = spectrum["k"], &y = last["y"];
    for (int b = 0; b < p.partitions + 3; b++) {
        for (int c = 0; c < tile; c++)
            for (int n = 0; n < p.rows(); n++) {
                first["u"].set(u_at(c, n), tone(b, n, c));
                u[c].push_back(first["u"].get(u_at(c, n)));
            }
        REQUIRE(first.call() == 0);
        hand_over(first, second, lanes, "x");
        REQUIRE(second.call() == 0);
        Tensor &newest = ring[static_cast<size_t>(b % p.partitions)];
        const Tensor &out = second[lanes ? "newest" : "out"];
        out.for_each([&](const std::vector<int> &at) { newest.set(at, out.get(at)); });
        product.scalar("slot") = b % p.partitions;
        multiply(p, product, spectrum, ring, inverse);
        REQUIRE(inverse.call() == 0);
        hand_over(inverse, last, lanes, "z");
        REQUIRE(last.call() == 0);
        hand_over(last, "tail_out", last, "tail");
        for (int copy = 0; copy < p.copies; copy++)
            for (int c = 0; c < tile; c += 5)
                for (int n = 0; n < p.rows(); n += 7) {
                    const int t = b * p.rows() + n;
                    double sum = 0;
                    for (int j = 0; j <= t && j < p.taps; j++) sum += of_taps.get({c, copy, j}) * u[c][t - j];
                    const double found = lanes ? y.get({0, n}) : y.get({c, copy, n});
                    difference += std::pow(sum - found, 2), size += sum * sum;
                }
    }
    const double error = std::sqrt(difference / size);
    INFO("length ", p.length, " tile ", p.tile, " error ", error);
    CHECK(error <= 3e-7);
}

void run_pieces(const std::vector<Pieces> &list) {
    if (gpu_under_test()) return; // kernels of CPUs
    for (const longwave::targets::Target &target : longwave::targets::all()) {
        if (target.by_name || !host_runs(target)) continue;
        INFO(target.name);
        for (const Pieces &p : list) {
            auto kernels = load_kernels(piece_specs(p), target, find_kgen());
            REQUIRE_MESSAGE(kernels, kernels.status().message());
            check_pieces(p, *kernels);
        }
    }
}

// Sums of products of spectra, some of them ahead, against their definition in float64.
struct Sums {
    int bins, partitions;
    int blocks = 0, terms = 0; // ahead; or the rest
};

void check_sums(const Sums &p, Kernel &k) {
    k.fill_inputs(7);
    const auto slots = {0, p.partitions / 2, p.partitions - 1};
    for (const int slot : slots) {
        k.scalar("slot") = slot;
        REQUIRE(k.call() == 0);
        const Tensor &past = k["past"], &spectrum = k["spectrum"];
        double worst = 0;
        for (int block = 0; block < std::max(p.blocks, 1); block++) {
            const std::string re_name = block ? fmt::format("next_{}", 2 * block - 2) : "re_out",
                              im_name = block ? fmt::format("next_{}", 2 * block - 1) : "im_out";
            for (int bin = 0; bin < p.bins; bin++) {
                const int l = bin % group, g = bin / group;
                double re = p.terms ? k["re"].get({bin}) : 0, im = p.terms ? k["im"].get({bin}) : 0;
                for (int q = block; q < (p.terms ? p.terms : p.partitions); q++) {
                    const int at = (slot - (q - block) + p.partitions) % p.partitions;
                    const double xr = past.get({l, 0, at, g}), xi = past.get({l, 1, at, g}),
                                 kr = spectrum.get({l, 0, q, g}), ki = spectrum.get({l, 1, q, g});
                    re += xr * kr - xi * ki, im += xr * ki + xi * kr;
                }
                worst = std::max(
                    {worst, std::abs(k[re_name].get({bin}) - re), std::abs(k[im_name].get({bin}) - im)});
            }
        }
        INFO("bins ", p.bins, " partitions ", p.partitions, " blocks ", p.blocks, " terms ", p.terms);
        // Values up to 1: 2·partitions products, each rounded to float32 in sums of about sqrt(partitions).
        CHECK(worst <= p.partitions * 1.2e-7 * std::sqrt(p.partitions));
        CHECK(k[p.blocks > 1 ? "next_0" : "re_out"].get({p.bins - 1}) != 0);
    }
}

void run_sums(const std::vector<Sums> &list) {
    if (gpu_under_test()) return; // kernels of CPUs
    std::vector<std::string> specs;
    for (const Sums &p : list) {
        const std::string shape = fmt::format(R"("bins":{},"partitions":{})", p.bins, p.partitions);
        if (p.blocks)
            specs.push_back(
                spec("long_conv_lanes_product_ahead", fmt::format(R"({},"blocks":{})", shape, p.blocks)));
        else if (p.terms)
            specs.push_back(
                spec("long_conv_lanes_product_rest", fmt::format(R"({},"terms":{})", shape, p.terms)));
        else specs.push_back(spec("long_conv_lanes_product", shape));
    }
    for (const longwave::targets::Target &target : longwave::targets::all()) {
        if (target.by_name || !host_runs(target)) continue;
        INFO(target.name);
        auto kernels = load_kernels(specs, target, find_kgen());
        REQUIRE_MESSAGE(kernels, kernels.status().message());
        for (size_t i = 0; i < list.size(); i++) check_sums(list[i], (*kernels)[i]);
    }
}

// A level in slices, which share the memory of the whole level, equals the whole level.
struct Slice {
    int length, level, slice;
};
// Of the largest value. A compiler may fuse other products with sums in slices: each of the few sums of a
// butterfly rounds differently then.
constexpr double few_roundings = 4 * 0x1p-23;

std::vector<std::string> slice_specs(const Slice &p, int levels) {
    const std::string shape =
        fmt::format(R"("length":{},"first":{},"last":{})", p.length, p.level, p.level + 1);
    const std::string forward = shape + (p.level + 1 == levels ? R"(,"partitions":3)" : ""),
                      part = fmt::format(R"(,"slice":{})", p.slice);
    return {spec("long_conv_lanes_forward", forward), spec("long_conv_lanes_forward", forward + part),
            spec("long_conv_lanes_inverse", shape), spec("long_conv_lanes_inverse", shape + part)};
}

// Calls `part` for each slice. Arguments that begin with the inputs of the butterflies: `by_input`; with
// their bins: `by_bin`.
void compare_slices(const Slice &p, Kernel &whole, Kernel &part, const std::vector<std::string> &by_input,
                    const std::vector<std::string> &by_bin) {
    const auto length = static_cast<uint32_t>(p.length);
    const longwave::schedules::LaneLevel level =
        longwave::schedules::lane_levels(length)[static_cast<size_t>(p.level)];
    whole.fill_inputs(3);
    set_table(whole, longwave::schedules::lane_twiddles(length));
    REQUIRE(whole.call() == 0);
    std::map<std::string, std::vector<double>> wanted;
    std::map<std::string, uint8_t *> base;
    const auto is_output = [](const std::string &name) {
        return name.find("out") != name.npos || name == "y";
    };
    for (const auto &names : {by_input, by_bin})
        for (const std::string &name : names) {
            base[name] = whole[name].data();
            if (!is_output(name) && name != "newest") continue;
            wanted[name] = whole[name].numbers();
            whole[name].for_each([&](const std::vector<int> &at) { whole[name].set(at, 5); });
        }
    for (int first = 0; first < p.length / level.radix; first += p.slice) {
        std::map<std::string, uint8_t *> places;
        for (const std::string &name : by_input) places[name] = base[name] + size_t{4} * first;
        for (const std::string &name : by_bin) // of a ring: 3 partitions of 2 parts
            places[name] = base[name] + size_t{4} * first * level.radix * (name == "newest" ? 6 : 1);
        places["twiddles"] =
            whole["twiddles"].data() + (p.level > 0 ? size_t{4} * (first % level.period) : 0);
        part.prepare(places);
        REQUIRE(part.call_prepared() == 0);
    }
    for (const auto &[name, values] : wanted) {
        INFO("length ", p.length, " level ", p.level, " slice ", p.slice, " ", name);
        const std::vector<double> found = whole[name].numbers();
        REQUIRE(found.size() == values.size());
        double largest = 0, apart = 0;
        for (size_t i = 0; i < values.size(); i++) {
            largest = std::max(largest, std::abs(values[i]));
            apart = std::max(apart, std::abs(found[i] - values[i]));
        }
        CHECK(apart <= few_roundings * largest);
    }
}

void run_slices(const std::vector<Slice> &list) {
    if (gpu_under_test()) return; // kernels of CPUs
    for (const longwave::targets::Target &target : longwave::targets::all()) {
        if (target.by_name || !host_runs(target)) continue;
        INFO(target.name);
        for (const Slice &p : list) {
            const auto levels = static_cast<int>(
                longwave::schedules::right_angle_radices(static_cast<uint32_t>(p.length)).size());
            auto loaded = load_kernels(slice_specs(p, levels), target, find_kgen());
            REQUIRE_MESSAGE(loaded, loaded.status().message());
            std::vector<Kernel> &k = *loaded;
            std::vector<std::string> there{"re", "im"}, back{"re_out", "im_out"}, bins{"re_out", "im_out"};
            if (p.level == 0) there = {"u"}, back = {"tail", "y", "tail_out"};
            if (p.level + 1 == levels) bins = {"newest"};
            compare_slices(p, k[0], k[1], there, bins);
            compare_slices(p, k[2], k[3], back, {"re", "im"});
        }
    }
}

} // namespace

TEST_CASE("long_conv_lanes: a stream of blocks equals the convolution, for each number of channels") {
    run_lanes({
        {.block = 64, .partitions = 3, .taps = 192, .channels = 1},
        {.block = 64, .partitions = 3, .taps = 150, .channels = 2},
        {.block = 16, .partitions = 4, .taps = 64, .channels = 3},
        {.block = 64, .partitions = 2, .taps = 128, .channels = 4},
        {.block = 256, .partitions = 2, .taps = 500, .channels = 8},
        {.block = 64, .partitions = 1, .taps = 64, .channels = 15},
    });
}

TEST_CASE("long_conv_lanes: every radix of a block, several copies, an epilogue, rows of large partitions") {
    run_lanes({
        {.block = 32, .partitions = 3, .taps = 90, .channels = 1, .added = 2},
        {.block = 160, .partitions = 3, .taps = 480, .channels = 2, .relu = true},
        {.block = 48, .partitions = 2, .taps = 96, .channels = 1, .copies = 2},
        {.block = 64, .partitions = 3, .taps = 192, .channels = 3, .copies = 2, .added = 2, .relu = true},
        {.block = 240, .partitions = 2, .taps = 480, .channels = 1, .relu = true},
    });
}

TEST_CASE("long_conv_lanes: blocks of any length, by a transform that is longer") {
    run_lanes({
        {.block = 441, .partitions = 3, .taps = 1300, .channels = 1, .longer = 480},
        {.block = 63, .partitions = 4, .taps = 252, .channels = 2, .added = 1, .relu = true, .longer = 64},
        {.block = 65, .partitions = 3, .taps = 190, .channels = 3, .copies = 2, .longer = 80},
        {.block = 17, .partitions = 3, .taps = 51, .channels = 1, .copies = 2, .added = 1, .longer = 48},
        {.block = 7, .partitions = 5, .taps = 35, .channels = 1, .longer = 16},
        {.block = 1, .partitions = 4, .taps = 4, .channels = 2, .longer = 16},
        {.block = 251, .partitions = 2, .taps = 500, .channels = 15, .longer = 256},
    });
}

TEST_CASE("large partitions of one channel, level by level, equal the convolution") {
    run_pieces({
        {.length = 64, .partitions = 3, .taps = 192, .tile = 0, .cut = 1, .slices = 1},
        {.length = 512, .partitions = 2, .taps = 1000, .tile = 0, .cut = 2, .slices = 4},
        {.length = 960, .partitions = 2, .taps = 1920, .tile = 0, .cut = 2, .slices = 1},
        {.length = 1024, .partitions = 3, .taps = 3000, .tile = 0, .cut = 4, .slices = 8},
        {.length = 480, .partitions = 3, .taps = 1323, .tile = 0, .cut = 2, .slices = 1, .shorter = 441},
        {.length = 64, .partitions = 3, .taps = 84, .tile = 0, .cut = 1, .slices = 1, .shorter = 28},
    });
}

TEST_CASE("sums over partitions of one channel, ahead, and their rest, equal their definition") {
    run_sums({
        {.bins = 64, .partitions = 5},
        {.bins = 48, .partitions = 1},
        {.bins = 16, .partitions = 3, .blocks = 2},
        {.bins = 32, .partitions = 69, .blocks = 4},
        {.bins = 48, .partitions = 17, .blocks = 8},
        {.bins = 16, .partitions = 9, .blocks = 8},
        {.bins = 32, .partitions = 9, .terms = 1},
        {.bins = 64, .partitions = 7, .terms = 7},
    });
}

TEST_CASE("slices of a level of one channel's transform equal the whole level") {
    run_slices({
        {.length = 256, .level = 0, .slice = 16},
        {.length = 512, .level = 0, .slice = 64},
        {.length = 512, .level = 1, .slice = 32},
        {.length = 512, .level = 4, .slice = 16},
        {.length = 960, .level = 1, .slice = 160},
        {.length = 1024, .level = 2, .slice = 16},
        {.length = 4096, .level = 3, .slice = 256},
        {.length = 4096, .level = 5, .slice = 64},
    });
}

TEST_CASE("large partitions of a tile of channels, in pieces, equal the convolution") {
    run_pieces({
        {.length = 64, .partitions = 3, .taps = 192, .tile = 16, .cut = 2, .slices = 2},
        {.length = 160, .partitions = 2, .taps = 300, .tile = 16, .cut = 2, .slices = 4, .copies = 2},
        {.length = 1024, .partitions = 2, .taps = 2048, .tile = 16, .cut = 3, .slices = 8},
        {.length = 480, .partitions = 2, .taps = 882, .tile = 16, .cut = 2, .slices = 4, .shorter = 441},
        {.length = 64,
         .partitions = 3,
         .taps = 84,
         .tile = 16,
         .cut = 1,
         .slices = 2,
         .copies = 2,
         .shorter = 28},
    });
}

} // namespace position_vectorized_test
