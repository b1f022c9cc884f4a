// Products of a matrix with many rows and with few: lists of instructions, run by an interpreter
// and on a Vulkan device, against sums in float64.
#include "schedules/gpu/assemble.h"
#include "schedules/gpu/matrix_product.h"
#include "schedules/gpu/matrix_vector.h"
#include "tests/kernels/check.h"
#include "tests/kernels/program_interpreter.h"
#include "tests/kernels/random.h"
#include <cstring>
#include <numeric>
#include <random>

namespace matrix_product_test {

using namespace longwave;
using namespace longwave::test;
using schedules::Panels, schedules::WeightFormat;

namespace {

struct Shape {
    uint32_t in, out, rows;
    bool bias = false, glu = false;
    WeightFormat format = WeightFormat::float32;
    uint32_t gap = 0, first = 0, blocks = 1;
    bool x_channel_major = false, y_channel_major = false, along_rows = false;

    gpu::ProductSizes sizes() const {
        const uint32_t row = first + blocks * in + gap;
        return {rows,
                in,
                row,
                first,
                blocks,
                bias,
                Panels{in, out, glu ? 2u : 1u, format},
                x_channel_major,
                y_channel_major,
                along_rows || y_channel_major};
    }
};

// What is stored: the value, or the value times its gate.
gpu::FinishVectors finish(gpu::Program &) {
    return [](const gpu::Vec4 &values, const std::optional<gpu::Vec4> &gates, const gpu::VectorPlace &) {
        gpu::Vec4 made = values;
        for (size_t i = 0; gates && i < 4; i++) made[i] = made[i] * (*gates)[i];
        return made;
    };
}

// Weights that each format holds exactly, in rows whose scale is a power of two.
double weight(uint32_t o, uint32_t half, uint32_t i) {
    if (i == 0) return 127.0 / 128;
    return (static_cast<double>((o * 37 + half * 11 + i * 53) % 255) - 127) / 128;
}

void interpreted(const Shape &shape, const targets::Target &target) {
    INFO(shape.in, " inputs, ", shape.out, " outputs, ", shape.rows, " rows, ", target.name);
    const gpu::ProductSizes sizes = shape.sizes();
    std::vector<gpu::Program> programs; // every variant
    for (const gpu::VectorSlices &slices : gpu::vector_slices(sizes, schedules::limits_of(target)))
        programs.push_back(gpu::matrix_vector(sizes, slices, finish));
    if (programs.empty())
        for (const gpu::ProductTile &tile : gpu::product_tiles(sizes, schedules::limits_of(target)))
            programs.push_back(gpu::matrix_product(sizes, tile, finish));
    // With few registers Halide schedules what has more than four sums for each output, of inputs that
    // are no fours.
    const bool many = sizes.rows * sizes.panels.halves > 4;
    if (schedules::limits_of(target).few_registers() && shape.in % 4 && many && programs.empty()) return;
    REQUIRE(!programs.empty());

    schedules::PackedPanels packed(sizes.panels);
    std::vector<uint32_t> inputs(shape.in);
    std::iota(inputs.begin(), inputs.end(), 0u);
    const uint32_t halves = sizes.panels.halves, width = sizes.width();
    std::vector<float> bias(halves * width, 0.0f);
    for (uint32_t half = 0; half < halves; half++)
        for (uint32_t o = 0; o < shape.out; o++) {
            std::vector<double> row;
            for (uint32_t i = 0; i < shape.in; i++) row.push_back(weight(o, half, i));
            packed.set(o, half, row, inputs);
            bias[half * width + o] = static_cast<float>(o % 5) - 2;
        }
    std::mt19937 random(shape.in + shape.rows);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto place = [&](bool channel_major, uint32_t r, uint32_t channel, uint32_t channels) {
        return channel_major ? size_t{channel} * shape.rows + r : size_t{r} * channels + channel;
    };
    const auto x_at = [&](uint32_t r, uint32_t i) {
        return place(shape.x_channel_major, r, i, sizes.in_row);
    };
    // What lies between the rows spoils every sum that reads it.
    std::vector<float> x(size_t{sizes.in_row} * shape.rows, 1e30f);
    for (uint32_t r = 0; r < shape.rows; r++)
        for (uint32_t i = shape.first; i < sizes.in_row - shape.gap; i++) x[x_at(r, i)] = uniform(random);
    x.resize(x_at(shape.rows - 1, sizes.in_row - shape.gap - 1) + 1);

    std::vector<float> words(packed.words.size());
    std::memcpy(words.data(), packed.words.data(), words.size() * 4);
    for (const gpu::Program &program : programs) {
        INFO("variant ", &program - programs.data());
        std::vector<std::vector<float>> buffers{x, words};
        if (sizes.scaled()) buffers.push_back(packed.scales);
        if (sizes.bias) buffers.push_back(bias);
        buffers.emplace_back(size_t{width} * shape.rows, 7e7f);
        CHECK(interpret(program, buffers).fault == "");

        double difference = 0, size = 0;
        for (uint32_t r = 0; r < shape.rows; r++)
            for (uint32_t o = 0; o < width; o++) {
                const auto sum = [&](uint32_t half) {
                    double total = shape.bias && o < shape.out ? bias[half * width + o] : 0;
                    const uint32_t begin = shape.first + o / (shape.out / shape.blocks) * shape.in;
                    for (uint32_t i = 0; o < shape.out && i < shape.in; i++)
                        total += weight(o, half, i) * x[x_at(r, begin + i)];
                    return total;
                };
                const double expected = shape.glu ? sum(0) * sum(1) : sum(0);
                const double found = buffers.back()[place(shape.y_channel_major, r, o, width)];
                difference += (found - expected) * (found - expected), size += expected * expected;
                if (o >= shape.out) CHECK(found == 0);
            }
        // A sum goes from end to end in one: beyond 512 inputs twice the bound of sums in parts.
        CHECK(std::sqrt(difference / size) <= limit(shape.in, shape.glu) * (shape.in > 512 ? 2 : 1));
    }
}

} // namespace

TEST_CASE("matrix_product: interpreted, tiles that are whole and that are not, no race") {
    if (gpu_under_test()) return; // once, with the tests of the CPU
    for (const targets::Target &target : targets::gpus()) {
        interpreted({16, 16, 9, true}, target);
        interpreted({4, 2, 10}, target);
        interpreted({20, 17, 33, true}, target);
        interpreted({96, 12, 50, false, true}, target);
        interpreted({40, 100, 37, true, true}, target);
        interpreted({72, 130, 65, true, false, WeightFormat::float32, 8}, target);
        interpreted({32, 64, 40, true, false, WeightFormat::float32, 16, 12, 2}, target);
    }
    interpreted({2048, 33, 12, true}, *targets::find_gpu("vulkan-32k"));
}

TEST_CASE("matrix_product: interpreted, rows that lie channel by channel, on one side and on both") {
    if (gpu_under_test()) return;
    for (const targets::Target &target : targets::gpus())
        for (const auto &[x, y] : {std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
            const auto check = [&, x = x, y = y](Shape shape) {
                shape.x_channel_major = x, shape.y_channel_major = y;
                interpreted(shape, target);
            };
            check({16, 16, 64, true});
            check({20, 17, 33, true});
            check({96, 12, 56, false, true});
            check({40, 100, 37, true, true});
            check({32, 64, 40, true, false, WeightFormat::int8, 16, 12, 2});
            check({20, 4 * 128 + 20, 64 * 8 - 3, true});
        }
    Shape along_rows{24, 40, 48, true};
    along_rows.along_rows = true; // for an operand
    interpreted(along_rows, *targets::find_gpu("vulkan-32k"));
}

TEST_CASE("matrix_vector: interpreted, one row to eight, any number of inputs, no race") {
    if (gpu_under_test()) return;
    for (const targets::Target &target : targets::gpus()) {
        interpreted({1, 3, 1}, target);
        interpreted({1, 16, 2, true, true}, target);
        interpreted({17, 40, 3, true}, target);
        interpreted({160, 100, 1, true}, target);
        interpreted({264, 40, 2, true, false, WeightFormat::float32, 8}, target);
        interpreted({513, 33, 8, true}, target);
        interpreted({250, 48, 4, true, true}, target);
        interpreted({33, 64, 5, true, false, WeightFormat::float32, 3, 7, 2}, target);
        interpreted({2048, 32, 1, true}, target);
        interpreted({3001, 16, 2}, target);
        for (const WeightFormat format : {WeightFormat::bf16, WeightFormat::int8}) {
            interpreted({1, 2, 1, false, false, format}, target);
            interpreted({171, 40, 1, true, true, format}, target);
            interpreted({1030, 24, 8, true, false, format}, target);
        }
    }
}

TEST_CASE("matrix_product: interpreted, weights of bf16 and int8") {
    if (gpu_under_test()) return;
    const targets::Target &target = *targets::find_gpu("vulkan-32k");
    for (const WeightFormat format : {WeightFormat::bf16, WeightFormat::int8}) {
        interpreted({72, 40, 33, true, false, format}, target);
        interpreted({20, 24, 12, true, true, format}, target);
        interpreted({12, 12, 12, false, false, format}, target);
    }
}

TEST_CASE("random: matrix_product and matrix_vector, interpreted") {
    if (gpu_under_test()) return;
    Random r("matrix_product");
    const char *text = std::getenv("LONGWAVE_SHAPES");
    for (int i = 0; i < (text ? std::atoi(text) : 12); i++) {
        const bool few = r.flip(), glu = r.flip();
        const auto size = [&](int high) { return static_cast<uint32_t>(r.size(high)); };
        const auto draw = [&](int low, int high) { return static_cast<uint32_t>(r.between(low, high)); };
        const WeightFormat format = r.one_of({WeightFormat::float32, WeightFormat::bf16, WeightFormat::int8});
        if (few)
            interpreted({size(700), 1 + size(150), draw(1, glu ? 4 : 8), r.flip(), glu, format, draw(0, 5)},
                        targets::gpus()[draw(0, 1)]);
        else
            interpreted({4 * size(90), 1 + size(150), draw(9, 80), r.flip(), glu, format, 4 * draw(0, 3)},
                        targets::gpus()[draw(0, 1)]);
    }
}

TEST_CASE("matrix_product: interpreted, the larger tiles") {
    if (gpu_under_test()) return;
    const targets::Target &target = *targets::find_gpu("vulkan-32k");
    interpreted({20, 4 * 128 + 20, 64 * 32 - 3, true}, target);
    interpreted({8, 8 * 64, 128 * 32}, target);
    interpreted({12, 16 * 64 + 2, 64 * 10 + 7, true, true}, target);
}

TEST_CASE("matrix_product: sizes that it leaves to another kernel") {
    if (gpu_under_test()) return;
    const schedules::WorkgroupLimits limits = schedules::limits_of(*targets::find_gpu("vulkan-32k"));
    const auto fits = [&](const Shape &shape) { return !gpu::product_tiles(shape.sizes(), limits).empty(); };
    CHECK(fits({64, 64, 64}));
    const auto sums = [](const char *target, bool gates) { // of a thread
        const Shape shape{64, 64, 64, true, gates};
        return gpu::product_tiles(shape.sizes(), schedules::limits_of(*targets::find_gpu(target)))[0].sums();
    };
    for (const bool gates : {false, true}) CHECK(sums("vulkan-16k", gates) == 8); // V3D keeps no more
    CHECK(sums("vulkan-32k", true) == 32);
    CHECK(!fits({63, 64, 64}));                                         // inputs are read in fours
    CHECK(!fits({64, 64, 64, false, false, WeightFormat::float32, 2})); // and so are rows
    CHECK(!fits({64, 1, 64}));
    const auto few = [&](const Shape &shape) { return !gpu::vector_slices(shape.sizes(), limits).empty(); };
    CHECK(few({63, 64, 8}));
    CHECK(!few({63, 64, 9}));
    CHECK(!few({63, 64, 5, false, true}));
    CHECK(!few({63, 1, 1}));
    CHECK(!fits({64, 48, 64, false, false, WeightFormat::float32, 0, 0, 3})); // a tile across blocks
}

TEST_CASE("matrix_product: variants, the best guess first") {
    if (gpu_under_test()) return;
    const schedules::WorkgroupLimits limits = schedules::limits_of(*targets::find_gpu("vulkan-32k"));
    const auto tile_rows = [&](uint32_t in, uint32_t out, uint32_t rows) {
        std::vector<uint32_t> list;
        for (const gpu::ProductTile &tile : gpu::product_tiles(Shape{in, out, rows}.sizes(), limits))
            list.push_back(tile.tile_rows());
        return list;
    };
    CHECK(tile_rows(2048, 2048, 1024) == std::vector<uint32_t>{128, 64, 32}); // many workgroups anyway
    CHECK(tile_rows(160, 160, 64).front() == 32);                             // few
    CHECK(tile_rows(160, 160, 64).size() == 3);
    const auto slices = gpu::vector_slices(Shape{512, 512, 1}.sizes(), limits);
    REQUIRE(slices.size() == 4);
    CHECK(slices[1].slices * 2 == slices[0].slices);
    CHECK(slices[2].slices == slices[0].slices * 2);
    CHECK(slices[3].together * 2 == slices[0].together);
}

TEST_CASE("interpreter of programs: loops, registers and fours") {
    if (gpu_under_test()) return;
    gpu::Program program("p", {4, 1, 1}, {1, 1, 1});
    const gpu::Memory y = program.buffer("y", 4, gpu::Access::write);
    program.shared(16, 4);
    const gpu::Uint thread = program.thread();
    const gpu::Register sum = program.keep(program.f32(1));
    program.loop(5, [&](gpu::Uint iteration) {
        program.set(sum, fma(program.get(sum), program.f32(2), gpu::s32_to_f32(iteration)));
    });
    const gpu::Float one = program.get(sum), none = program.f32(0);
    program.store_shared_vec4(thread, {one, none, gpu::s32_to_f32(thread), one});
    program.barrier();
    program.store_vec4(y, thread, program.load_shared_vec4(thread ^ 1));
    std::vector<std::vector<float>> buffers{std::vector<float>(16)};
    CHECK(interpret(program, buffers).fault == "");
    CHECK(buffers[0][4] == 32 + 8 * 1 + 4 * 2 + 2 * 3 + 4); // thread 1 has what thread 0 stored
    CHECK(buffers[0][6] == 0);
    CHECK(buffers[0][2] == 1);
}

TEST_CASE("matrix_product: on a device, x, y and the operand channel by channel, each and all") {
    if (!gpu_under_test()) return;
    std::vector<Case> cases;
    // No code asks for two of them: each decides how it is read or stored, and the operand and y
    // in what order threads go. So each alone, and all of them.
    for (const int which : {1, 2, 4, 7}) {
        std::vector<int> channel_major; // x w bias add_1 y
        for (const auto &[bit, argument] : {std::pair(1, 0), std::pair(2, 3), std::pair(4, 4)})
            if (which & bit) channel_major.push_back(argument);
        const int in = 36, out = 50;
        cases.push_back({with_channel_major(spec("linear", R"("in":36,"out":50,"rows":200,"bias":1)",
                                                 R"({"op":"relu"},{"op":"add"})"),
                                            channel_major),
                         [=](Kernel &k) {
                             const Tensor &w = k["w"], &x = k["x"];
                             zero_padding(k["bias"], out, padded(out));
                             zero_padding(k["add_1"], out, padded(out));
                             k["w"].for_each([&](const std::vector<int> &at) {
                                 if (at[2] * 16 + at[0] >= out) k["w"].set(at, 0);
                             });
                             compare(
                                 k, "y",
                                 [&](const std::vector<int> &at) {
                                     double sum = k["bias"].get({at[0]});
                                     for (int i = 0; i < in; i++)
                                         sum += w.get({at[0] % 16, i, at[0] / 16}) * x.get({i, at[1]});
                                     return std::fmax(sum, 0) + k["add_1"].get(at);
                                 },
                                 limit(in));
                         },
                         true});
    }
    run_everywhere(cases);
}

TEST_CASE("matrix_product: on a device, long sums and every tile") {
    if (!gpu_under_test()) return;
    std::vector<Case> cases;
    for (const Shape &p :
         {Shape{2048, 96, 33, true}, Shape{256, 2048, 1100, true}, Shape{260, 520, 530, true, true},
          Shape{2048, 520, 1, true}, Shape{1001, 96, 8, true}, Shape{777, 40, 4, true, true}})
        cases.push_back(
            {spec("linear", fmt::format(R"("in":{},"out":{},"rows":{},"bias":1,"glu":{})", p.in, p.out,
                                        p.rows, int(p.glu))),
             [=](Kernel &k) {
                 zero_padding(k["bias"], static_cast<int>(p.out), padded(static_cast<int>(p.out)));
                 k["w"].for_each([&](const std::vector<int> &at) {
                     if (at[2] / (p.glu ? 2 : 1) * 16 + at[0] >= static_cast<int>(p.out)) k["w"].set(at, 0);
                 });
                 uint64_t left = 1;
                 REQUIRE(k.call(&left) == 0);
                 double difference = 0, size = 0;
                 const Tensor &w = k["w"], &x = k["x"];
                 std::mt19937 random(5); // of many results, some
                 for (int n = 0; n < 3000; n++) {
                     const int o = static_cast<int>(random() % p.out),
                               r = static_cast<int>(random() % p.rows);
                     const auto sum = [&](int half) {
                         double total = k["bias"].get({o + half * padded(static_cast<int>(p.out))});
                         for (int i = 0; i < static_cast<int>(p.in); i++)
                             total += w.get({o % 16, i, o / 16 * (p.glu ? 2 : 1) + half}) * x.get({i, r});
                         return total;
                     };
                     const double expected = p.glu ? sum(0) * logistic(sum(1)) : sum(0),
                                  found = k["y"].get({o, r});
                     difference += (found - expected) * (found - expected), size += expected * expected;
                 }
                 CHECK(std::sqrt(difference / size) <= limit(p.in, p.glu) * (p.in > 512 ? 2 : 1));
             },
             true});
    run_everywhere(cases);
}

} // namespace matrix_product_test
