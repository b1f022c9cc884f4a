// long_conv_registers: a list of instructions, run by an interpreter and on a Vulkan device,
// against convolution by its definition in float64. The bound is 1e-6 of the peak of a channel.
#include "schedules/contract/register_transform.h"
#include "schedules/gpu/assemble.h"
#include "schedules/gpu/long_conv.h"
#include "tests/kernels/long_conv_check.h"
#include "tests/kernels/program_interpreter.h"
#include "tests/kernels/random.h"
#include "tests/support/every_case.h"

namespace registers_test {

using namespace longwave;
using namespace longwave::test;

namespace {

uint32_t lanes_of(const LongConv &s) {
    return static_cast<uint32_t>(s.channels == 1 ? s.copies : padded(s.channels));
}

// `channel_major`: u and y lie [channel][row].
schedules::RegisterForm form_of(const LongConv &s, const targets::Target &target, bool channel_major) {
    const auto form = schedules::register_form(static_cast<uint32_t>(s.length),
                                               channel_major ? 1 : lanes_of(s), schedules::limits_of(target));
    REQUIRE(form.has_value());
    return *form;
}

std::vector<float> spectrum_of(const LongConv &s, const schedules::RegisterForm &form,
                               const Filters &filters) {
    return spectrum_by_threads(s, filters, schedules::register_spectrum_order(form, form.radices),
                               form.workers(), form.lanes);
}

void interpreted(const LongConv &s, const targets::Target &target, bool channel_major = false) {
    INFO(s.length, " points, ", s.rows, " rows, ", target.name,
         std::string(channel_major ? ", channel by channel" : ""));
    const schedules::RegisterForm form = form_of(s, target, channel_major);
    const int row = padded(s.channels);
    const gpu::Program program =
        gpu::long_conv(form, {static_cast<uint32_t>(s.rows), static_cast<uint32_t>(row),
                              static_cast<uint32_t>(s.copies), channel_major});
    const Filters filters(s);
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    // Where row t of a channel lies, among `of` channels.
    const auto place = [&](int t, int c, int of) {
        return channel_major ? size_t(c) * s.rows + t : size_t(t) * of + c;
    };
    std::vector<float> u(size_t(s.rows) * row, 0.0f);
    for (int t = 0; t < s.rows; t++)
        for (int c = 0; c < s.channels; c++) u[place(t, c, row)] = uniform(random);
    std::vector<std::vector<float>> buffers{u, spectrum_of(s, form, filters),
                                            schedules::register_roots(form.radices),
                                            std::vector<float>(size_t(s.rows) * row * s.copies, 7e7f)};
    CHECK(interpret(program, buffers).fault == "");
    const std::vector<float> &y = buffers.back();
    const int stride = std::max(1, s.rows / 61);
    for (int c = 0; c < row; c += 5) {
        std::vector<double> x;
        for (int t = 0; t < s.rows; t++) x.push_back(u[place(t, c, row)]);
        for (int m = 0; m < s.copies; m++) {
            double peak = 0, worst = 0;
            for (int t = s.rows - 1; t >= 0; t -= stride) {
                const double expected = c < s.channels ? filters.convolved(x, c, m, t) : 0;
                peak = std::max(peak, std::fabs(expected));
                worst = std::max(worst, std::fabs(expected - y[place(t, m * row + c, s.copies * row)]));
            }
            CHECK(worst <= 1e-6 * peak);
        }
    }
}

Case on_device(const LongConv &s, const std::string &epilogue = "", const Finish &finish = {},
               const std::vector<int> &channel_major = {}) {
    return {long_conv_spec("long_conv_registers", s, epilogue, channel_major),
            [=](Kernel &k) {
                const Filters filters(s);
                const schedules::RegisterForm form = form_of(s, *gpu_under_test(), !channel_major.empty());
                const std::vector<float> spectrum = spectrum_of(s, form, filters),
                                         roots = schedules::register_roots(form.radices);
                size_t next = 0;
                k["spectrum"].for_each(
                    [&](const std::vector<int> &at) { k["spectrum"].set(at, spectrum[next++]); });
                next = 0;
                k["roots"].for_each([&](const std::vector<int> &at) { k["roots"].set(at, roots[next++]); });
                zero_padding(k["u"], s.channels, padded(s.channels));
                REQUIRE(k.call() == 0);
                const double error = error_of(k["u"], k, s, filters, finish);
                INFO("relative L2 error ", error);
                CHECK(error <= 5e-7);
            },
            true};
}

} // namespace

TEST_CASE("long_conv_registers: interpreted, every length, one- and two-sided, in copies, short rows") {
    if (gpu_under_test()) return; // once, with the tests of the CPU
    for (const LongConv &one : std::vector<LongConv>{{256, 256, 16},
                                                     {256, 130, 20, 2, true},
                                                     {512, 512, 16},
                                                     {1024, 1000, 5, 1, true},
                                                     {2048, 2048, 16},
                                                     {4096, 3000, 2},
                                                     {256, 250, 1, 16},
                                                     {8192, 8192, 1, 16}})
        interpreted(one, *targets::find_gpu("vulkan-32k"));
}

TEST_CASE("long_conv_registers: interpreted, lengths with factors 3 and 5") {
    if (gpu_under_test()) return; // once, with the tests of the CPU
    for (const LongConv &one : std::vector<LongConv>{{320, 300, 16},
                                                     {384, 384, 20, 2, true},
                                                     {480, 470, 1, 16},
                                                     {640, 640, 5},
                                                     {768, 700, 3, 1, true},
                                                     {960, 950, 16},
                                                     {1280, 1280, 4},
                                                     {1536, 1500, 16, 1, true},
                                                     {1920, 1920, 3},
                                                     {2560, 2500, 2},
                                                     {3072, 3000, 2, 1, true},
                                                     {3840, 3840, 2},
                                                     {5120, 5120, 1, 16},
                                                     {6144, 6000, 1},
                                                     {7680, 7680, 1}})
        interpreted(one, *targets::find_gpu("vulkan-32k"));
    interpreted({3072, 3000, 3}, *targets::find_gpu("vulkan-32k"), true);
    interpreted({5120, 5120, 2}, *targets::find_gpu("vulkan-32k"), true);
}

TEST_CASE("long_conv_registers: the length for as many rows") {
    if (gpu_under_test()) return;
    const std::map<uint32_t, uint32_t> lengths{{1, 256},     {256, 256},   {257, 320},   {1000, 1024},
                                               {1100, 1280}, {1500, 1536}, {1537, 2048}, {8000, 8192},
                                               {8192, 8192}, {8193, 0}};
    for (const auto &[rows, length] : lengths) CHECK(schedules::register_length(rows) == length);
}

TEST_CASE("long_conv_registers: interpreted, channel by channel") {
    if (gpu_under_test()) return; // once, with the tests of the CPU
    for (const LongConv &one :
         std::vector<LongConv>{{2048, 2048, 3}, {2048, 1608, 2, 2, true}, {4096, 4096, 2}, {8192, 5000, 2}})
        interpreted(one, *targets::find_gpu("vulkan-32k"), true);
}

// All rows of all channels, by the definition in float64.
static void circular_interpreted(uint32_t length, uint32_t row) {
    INFO(length, " rows, ", row, " channels");
    const auto form =
        schedules::register_form(length, row, schedules::limits_of(*targets::find_gpu("vulkan-32k")));
    REQUIRE(form.has_value());
    const float scale = 0.25f / static_cast<float>(length);
    const gpu::Program program =
        gpu::long_conv(*form, {.rows = length, .row = row, .circular = true, .scale_of_h = scale});
    std::mt19937 random(5);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> u(size_t{length} * row), h(u.size()),
        fixed(size_t{2} * form -> slots(form->last_pass()) * form->workers() * row, 0.0f);
    for (float &value : u) value = uniform(random);
    for (float &value : h) value = uniform(random);
    // The kernel (2, 0, 0, …).
    for (size_t i = 0; i < fixed.size(); i += 2) fixed[i] = 2 / static_cast<float>(length);
    std::vector<std::vector<float>> buffers{u, h, fixed, schedules::register_roots(form->radices),
                                            std::vector<float>(u.size(), 7e7f)};
    CHECK(interpret(program, buffers).fault == "");
    double peak = 0, worst = 0;
    for (uint32_t c = 0; c < row; c += 7)
        for (uint32_t t = 0; t < length; t++) {
            double sum = 2 * u[size_t{t} * row + c];
            for (uint32_t j = 0; j < length; j++)
                sum += 0.25 * h[size_t{j} * row + c] * u[size_t{(t + length - j) % length} * row + c];
            peak = std::max(peak, std::fabs(sum));
            worst = std::max(worst, std::fabs(sum - buffers.back()[size_t{t} * row + c]));
        }
    CHECK(worst <= 1e-6 * peak);
}

TEST_CASE("circular_conv_registers: interpreted, a kernel made in the run, no race") {
    if (gpu_under_test()) return; // once, with the tests of the CPU
    for (const uint32_t length : {256u, 320u, 384u, 480u, 512u, 1024u, 1280u, 1536u, 1920u, 2048u, 4096u})
        circular_interpreted(length, 16);
    circular_interpreted(512, 1);
    circular_interpreted(960, 1);
}

static void few_instructions(uint32_t length, double limit, bool channel_major) {
    INFO(length, " points", std::string(channel_major ? ", channel by channel" : ""));
    const auto form = schedules::register_form(length, channel_major ? 1 : 16,
                                               schedules::limits_of(*targets::find_gpu("vulkan-32k")));
    REQUIRE(form.has_value());
    const gpu::Program program = gpu::long_conv(*form, {length, 16, 1, channel_major});
    size_t floats = 0; // a negation is part of the instruction that takes it
    for (const gpu::Instruction &one : program.instructions())
        floats += one.op >= gpu::Op::add_f32 && one.op <= gpu::Op::log && one.op != gpu::Op::negate;
    const double per_sample = static_cast<double>(floats) / form->points;
    INFO(per_sample, " float instructions per sample");
    CHECK(per_sample <= limit);
    const schedules::BankFold fold = schedules::bank_fold(*form);
    for (size_t pass = 0; pass < form->radices.size(); pass++)
        for (uint32_t slot = 0; slot < form->slots(pass); slot++) {
            if (!form->complete(pass, slot / form->radices[pass])) continue; // some read one place together
            std::set<uint32_t> banks;
            for (uint32_t thread = 0; thread < 32; thread++)
                banks.insert((fold(form->position(pass, thread / form->lanes, slot)) * form->lanes +
                              thread % form->lanes) %
                             32);
            CHECK(banks.size() == 32);
        }
}

TEST_CASE("long_conv_registers: no form where threads have few registers") {
    CHECK(schedules::register_form(1024, 16, schedules::limits_of(*targets::find_gpu("vulkan-32k"))));
    CHECK(!schedules::register_form(1024, 16, schedules::limits_of(*targets::find_gpu("vulkan-16k"))));
}

TEST_CASE("long_conv_registers: no bank conflict, and few float instructions per sample") {
    if (gpu_under_test()) return;
    const std::map<uint32_t, double> most{{1024, 68}, {1280, 70}, {1536, 71}, {1920, 86},
                                          {2048, 75}, {3072, 84}, {4096, 82}};
    for (const auto &[length, limit] : most) {
        few_instructions(length, limit, false);
        if (length >= 2048) few_instructions(length, limit, true);
    }
}

TEST_CASE("interpreter of programs: races, accesses out of bounds and stores by two threads are found") {
    if (gpu_under_test()) return;
    const auto fault_of = [](const std::function<void(gpu::Program &, gpu::Memory)> &body) {
        gpu::Program program("p", {64, 1, 1}, {1, 1, 1});
        const gpu::Memory y = program.buffer("y", 1, gpu::Access::write);
        program.shared(64);
        body(program, y);
        std::vector<std::vector<float>> buffers{std::vector<float>(64)};
        return interpret(program, buffers).fault;
    };
    const auto neighbour = [](gpu::Program &p, bool barrier) {
        const gpu::Uint thread = p.thread();
        p.store_shared(thread, p.f32(1));
        if (barrier) p.barrier();
        p.load_shared(thread ^ 1);
    };
    CHECK(fault_of([&](gpu::Program &p, gpu::Memory) { neighbour(p, true); }) == "");
    CHECK(fault_of([&](gpu::Program &p, gpu::Memory) { neighbour(p, false); }).find("no barrier between") !=
          std::string::npos);
    CHECK(fault_of([](gpu::Program &p, gpu::Memory y) { p.store(y, p.thread() + 1, p.f32(1)); }) ==
          "thread 63 accesses element 64 of y, which has 64");
    CHECK(fault_of([](gpu::Program &p, gpu::Memory y) {
              p.store(y, p.thread() >> 1, p.f32(1));
          }).find("store to element 0 of y") != std::string::npos);
    CHECK(fault_of([](gpu::Program &p, gpu::Memory) {
              p.when(p.thread() < p.u32(32), [&] { p.barrier(); });
          }) == "a barrier inside a guard");
}

TEST_CASE("long_conv_registers: every length that fits, sequences as long as the transform and shorter") {
    if (!gpu_under_test()) return;
    run_everywhere({on_device({256, 200, 24}), on_device({1024, 1000, 16}), on_device({320, 300, 17}),
                    on_device({768, 768, 3, 2, true})});
    if (!every_case()) return; // the same passes and more of them, which a driver takes long to compile
    run_everywhere({on_device({512, 512, 3}), on_device({2048, 2048, 3}), on_device({4096, 4096, 2}),
                    on_device({1536, 1500, 16}), on_device({1920, 1900, 3}), on_device({2560, 2560, 1, 16})});
}

TEST_CASE("long_conv_registers: two-sided and in copies") {
    if (!gpu_under_test()) return;
    run_everywhere({on_device({256, 256, 1, 16}), on_device({1024, 700, 20, 3})});
    if (every_case()) run_everywhere({on_device({256, 250, 17, 2, true})}); // 768 points above
}

TEST_CASE("long_conv_registers: bias, gate and activation in the same dispatch; padding stays zero") {
    if (!gpu_under_test()) return;
    const auto finish = [](Kernel &k, double sum, int c, int m, int t) {
        const double moved = sum * k["scale_0"].get({c, m}) + k["shift_0"].get({c, m});
        return logistic(moved) * k["mul_2"].get({c, m, t});
    };
    run_everywhere({on_device({256, 256, 20}, R"({"op":"affine"},{"op":"sigmoid"},{"op":"mul"})", finish)});
}

TEST_CASE("long_conv_registers: channel by channel, with operands that lie so too") {
    if (!gpu_under_test()) return;
    const auto finish = [](Kernel &k, double sum, int c, int m, int t) {
        const double moved = sum * k["scale_0"].get({c, m}) + k["shift_0"].get({c, m});
        return logistic(moved) * k["mul_2"].get({c, m, t});
    };
    run_everywhere({on_device({2048, 2000, 3}, "", {}, {0, 3}),
                    on_device({2048, 2048, 5, 2, true}, R"({"op":"affine"},{"op":"sigmoid"},{"op":"mul"})",
                              finish, {0, 5, 6})});
    if (every_case()) run_everywhere({on_device({4096, 4096, 18}, "", {}, {0, 3})});
}

TEST_CASE("long_conv_registers: 8,192 rows in 32 KiB") {
    const auto *gpu = gpu_under_test();
    if (!gpu || gpu->shared_bytes < 32 << 10) return;
    run_everywhere({on_device({8192, 8192, 2})});
    if (!every_case()) return;
    run_everywhere({on_device({8192, 8192, 2}, "", {}, {0, 3}), on_device({6144, 6000, 2}, "", {}, {0, 3}),
                    on_device({7680, 7680, 1})});
}

} // namespace registers_test
