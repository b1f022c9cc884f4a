// four_step_columns, four_step_rows, four_step_columns_back: lists of instructions one after the other,
// run by an interpreter and on a Vulkan device, against convolution by its definition in float64.
#include "schedules/contract/four_step.h"
#include "schedules/gpu/four_step.h"
#include "tests/kernels/gpu_chain.h"
#include "tests/kernels/long_conv_check.h"
#include "tests/kernels/program_interpreter.h"

namespace four_step_registers_test {

using namespace longwave;
using namespace longwave::test;

namespace {

using schedules::FourStepForm;

const targets::Target &target_of_forms() { return *targets::find_gpu("vulkan-32k"); }

FourStepForm form_of(const LongConv &s, const targets::Target &target) {
    const int row = padded(s.channels);
    const auto form = schedules::four_step_form(static_cast<uint32_t>(s.length),
                                                static_cast<uint32_t>(row == 1 ? s.copies : row),
                                                schedules::limits_of(target));
    REQUIRE(form.has_value());
    return *form;
}

std::vector<float> spectrum_of(const LongConv &s, const FourStepForm &form, const Filters &filters) {
    return spectrum_by_threads(s, filters, schedules::register_spectrum_order(form.rows, form.radices()),
                               form.rows.workers(), form.rows.lanes);
}

std::vector<float> random_rows(const LongConv &s, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const int row = padded(s.channels);
    std::vector<float> u(size_t(s.rows) * row, 0.0f);
    for (int t = 0; t < s.rows; t++)
        for (int c = 0; c < s.channels; c++) u[size_t(t) * row + c] = uniform(random);
    return u;
}

// Runs a program whose last buffer it returns, of `numbers` values that no result has.
std::vector<float> run(const gpu::Program &program, std::vector<std::vector<float>> buffers, size_t numbers) {
    INFO(program.entry());
    buffers.emplace_back(numbers, 7e7f);
    CHECK(interpret(program, buffers).fault == "");
    return buffers.back();
}

struct Sums {
    double worst = 0, peak = 0;
    void add(double expected, double found) {
        peak = std::max(peak, std::fabs(expected));
        worst = std::max(worst, std::fabs(expected - found));
    }
};

// `made_scale`: circular, with that times a kernel made in the run.
void interpreted(const LongConv &s, double made_scale = 0) {
    const bool circular = made_scale != 0;
    const FourStepForm form = form_of(s, target_of_forms());
    INFO(s.rows, " rows as ", form.columns.length, " x ", form.rows.length, ", ", s.channels, " channels, ",
         s.copies, " copies");
    const auto row = static_cast<uint32_t>(padded(s.channels)), length = static_cast<uint32_t>(s.length);
    const gpu::FourStepSizes sizes{static_cast<uint32_t>(s.rows), row, static_cast<uint32_t>(s.copies),
                                   circular, static_cast<float>(made_scale / s.length)};
    const size_t points = size_t{2} * length * row;
    const Filters filters(s);
    const std::vector<float> roots = schedules::register_roots(form.radices()), u = random_rows(s, 3),
                             h = random_rows(s, 4);
    const gpu::Program columns = gpu::four_step_columns(form, sizes);
    std::vector<std::vector<float>> of_rows{run(columns, {u, roots}, points)};
    if (circular) of_rows.push_back(run(columns, {h, roots}, points));
    of_rows.insert(of_rows.end(), {spectrum_of(s, form, filters), roots});
    const std::vector<float> products =
        run(gpu::four_step_rows(form, sizes), of_rows, points * static_cast<size_t>(s.copies));
    const std::vector<float> y =
        run(gpu::four_step_columns_back(form, sizes), {products, roots}, size_t(s.rows) * row * s.copies);
    for (int c = 0; c < static_cast<int>(row); c += 5) {
        std::vector<double> x;
        for (int t = 0; t < s.rows; t++) x.push_back(u[size_t(t) * row + c]);
        for (int m = 0; m < s.copies; m++) {
            Sums sums;
            for (int t = s.rows - 1; t >= 0; t -= std::max(1, s.rows / 61)) {
                double expected = 0;
                if (circular)
                    for (int j = 0; j < s.rows && c < s.channels; j++)
                        expected += (filters.taps(c, m, 0)[j] + made_scale * h[size_t(j) * row + c]) *
                                    x[size_t((t - j + s.rows) % s.rows)];
                else if (c < s.channels) expected = filters.convolved(x, c, m, t);
                sums.add(expected, y[(size_t(t) * s.copies + m) * row + c]);
            }
            CHECK(sums.worst <= 1e-6 * sums.peak);
        }
    }
}

void set_all(Tensor &tensor, const std::vector<float> &values) {
    size_t next = 0;
    tensor.for_each([&](const std::vector<int> &at) { tensor.set(at, values[next++]); });
    REQUIRE(next == values.size());
}

struct Kernels {
    Kernel columns, rows, back;
    Kernels(const targets::Target &gpu, const LongConv &s, const std::string &of_rows,
            const std::string &of_back, const std::string &epilogue = "")
        : columns(loaded(gpu, spec("four_step_columns", length(s) + rows_of(s)))),
          rows(loaded(gpu, spec("four_step_rows", length(s) + copies_of(s) + of_rows))),
          back(loaded(gpu, spec("four_step_columns_back", length(s) + rows_of(s) + copies_of(s) + of_back,
                                epilogue))) {
        const FourStepForm form = form_of(s, gpu);
        const std::vector<float> roots = schedules::register_roots(form.radices());
        columns.fill_inputs(1);
        back.fill_inputs(2); // operands of the epilogue
        for (Kernel *kernel : {&columns, &rows, &back}) set_all((*kernel)["roots"], roots);
        set_all(rows["spectrum"], spectrum_of(s, form, Filters(s)));
    }
    // Of the rows u that `columns` has; the points become the input of `rows`.
    void transform(const LongConv &s, const char *input) {
        zero_padding(columns["u"], s.channels, padded(s.channels));
        REQUIRE(columns.call() == 0);
        hand_over(columns, "points", rows, input);
    }
    void finish() {
        REQUIRE(rows.call() == 0);
        hand_over(rows, "products", back, "products");
        REQUIRE(back.call() == 0);
    }
    static std::string length(const LongConv &s) {
        return fmt::format(R"("length":{},"channels":{})", s.length, s.channels);
    }
    static std::string rows_of(const LongConv &s) { return fmt::format(R"(,"rows":{})", s.rows); }
    static std::string copies_of(const LongConv &s) { return fmt::format(R"(,"copies":{})", s.copies); }
};

// Whether the device under test has such forms: its threads need many registers.
const targets::Target *device() {
    const targets::Target *gpu = gpu_under_test();
    return gpu && schedules::four_step_form(4096, 16, schedules::limits_of(*gpu)) ? gpu : nullptr;
}

void on_device(const LongConv &s, const std::string &epilogue = "", const Finish &finish = {}) {
    const targets::Target *gpu = device();
    if (!gpu) return;
    INFO(gpu->name, ": ", s.rows, " rows, ", s.channels, " channels, ", s.copies, " copies");
    Kernels k(*gpu, s, R"(,"scale":0)", "", epilogue);
    k.transform(s, "points");
    k.finish();
    CHECK(error_of(k.columns["u"], k.back, s, Filters(s), finish) <= 5e-7);
}

} // namespace

TEST_CASE("four_step in registers: interpreted, one- and two-sided, in copies, few channels, short rows") {
    if (gpu_under_test()) return; // once, with the tests of the CPU
    interpreted({4096, 4096, 16});
    interpreted({4096, 2200, 20, 2, true});
    interpreted({8192, 8000, 5, 1, true});
    interpreted({16384, 16000, 1});
    interpreted({16384, 9001, 1, 16});
    interpreted({16384, 16384, 1, 3, true});
    interpreted({65536, 40000, 2});
    interpreted({5120, 5000, 16, 2}); // 20 x 256
    interpreted({12288, 12200, 3, 1, true});
    interpreted({15360, 15000, 1});
    interpreted({24576, 20000, 1, 16});
    interpreted({122880, 100000, 2});
}

TEST_CASE("four_step in registers: interpreted, around the sequence, with a kernel made in the run") {
    if (gpu_under_test()) return; // once, with the tests of the CPU
    interpreted({4096, 4096, 3}, 0.25);
    interpreted({16384, 16384, 1}, 0.25);
    interpreted({7680, 7680, 2}, 0.25);
}

TEST_CASE("four_step in registers: a matrix for every length, whose requests take whole sectors") {
    if (gpu_under_test()) return;
    for (uint32_t rows = 4096; rows <= 1u << 22; rows += 1 + rows / 16)
        for (const uint32_t lanes : {1u, 2u, 16u, 48u, 768u}) {
            const uint32_t length = schedules::register_multiple(rows);
            CHECK(length >= rows);
            CHECK(length <= rows * 4 / 3);
            const auto form =
                schedules::four_step_form(length, lanes, schedules::limits_of(target_of_forms()));
            INFO(length, " points, ", lanes, " lanes");
            REQUIRE(form.has_value());
            CHECK(form->length() == length);
            if (length > 1u << 20) continue; // one of the sides has more than 1,024 points
            CHECK(form->columns.lanes >= 8);
            CHECK(form->rows.lanes >= std::min(lanes, 8u));
            CHECK((length < 16384 || form->rows.threads() >= 64)); // shorter ones take one dispatch
        }
    CHECK(!schedules::four_step_form(12100, 16, schedules::limits_of(target_of_forms())));
    CHECK(!schedules::four_step_form(2048, 16, schedules::limits_of(target_of_forms())));
    CHECK(!schedules::four_step_form(16384, 16, schedules::limits_of(*targets::find_gpu("vulkan-16k"))));
}

TEST_CASE("four_step in registers: no bank conflict, and few float instructions per sample") {
    if (gpu_under_test()) return;
    const FourStepForm form = form_of({16384, 16384, 16}, target_of_forms());
    const gpu::FourStepSizes sizes{.rows = 16384, .row = 16};
    double floats = 0; // a negation is part of the instruction that takes it
    for (const gpu::Program &program : {gpu::four_step_columns(form, sizes), gpu::four_step_rows(form, sizes),
                                        gpu::four_step_columns_back(form, sizes)})
        for (const gpu::Instruction &one : program.instructions())
            floats += one.op >= gpu::Op::add_f32 && one.op <= gpu::Op::log && one.op != gpu::Op::negate;
    floats /= form.rows.points;
    INFO(floats, " float instructions per sample");
    CHECK(floats <= 93);
    for (const schedules::RegisterForm &one : {form.columns, form.rows}) {
        const schedules::BankFold fold = schedules::bank_fold(one);
        for (size_t pass = 0; pass < one.radices.size(); pass++)
            for (uint32_t slot = 0; slot < one.slots(pass); slot++) {
                std::set<uint32_t> banks;
                for (uint32_t thread = 0; thread < 32; thread++)
                    banks.insert((fold(one.position(pass, thread / one.lanes, slot)) * one.lanes +
                                  thread % one.lanes) %
                                 32);
                CHECK(banks.size() == 32);
            }
    }
}

TEST_CASE("four_step in registers: channels that are no whole tiles, copies, one- and two-sided") {
    on_device({4096, 4000, 17, 2});
    on_device({8192, 8192, 3, 2, true});
    on_device({16384, 16384, 3});
    on_device({16384, 12001, 1, 1, true});
    on_device({8192, 5000, 1, 16, true});
    on_device({12288, 12200, 3});
    on_device({20480, 20000, 1, 1, true});
}

TEST_CASE("four_step in registers: bias, gate, sum and activation in the last dispatch; padding stays zero") {
    const Finish finish = [](Kernel &k, double sum, int c, int m, int t) {
        const double moved = sum * k["scale_0"].get({c, m}) + k["shift_0"].get({c, m});
        return logistic(moved) * k["mul_2"].get({c, m, t}) + k["add_3"].get({c, m, t});
    };
    const std::string epilogue = R"({"op":"affine"},{"op":"sigmoid"},{"op":"mul"},{"op":"add"})";
    on_device({4096, 4001, 20, 2}, epilogue, finish);
    on_device({4096, 4096, 1, 1, true}, epilogue, finish);
}

TEST_CASE("four_step in registers: around a sequence, with a kernel made in the run") {
    const targets::Target *gpu = device();
    if (!gpu) return;
    const LongConv s{4096, 4096, 17};
    const double made_scale = 0.25;
    Kernels k(*gpu, s, fmt::format(R"(,"adaptive":1,"scale":{})", made_scale / s.length), R"(,"circular":1)");
    k.transform(s, "points");
    std::vector<float> u;
    k.columns["u"].for_each(
        [&](const std::vector<int> &at) { u.push_back(static_cast<float>(k.columns["u"].get(at))); });
    k.columns["u"].for_each([&](const std::vector<int> &at) {
        k.columns["u"].set(at, std::sin(7.0 * at[1] + at[0])); // another sequence
    });
    k.transform(s, "made");
    k.finish();
    const Filters filters(s);
    const int row = padded(s.channels);
    Sums sums;
    for (int c = 0; c < s.channels; c++)
        for (int t = 0; t < s.rows; t += 41) {
            double expected = 0;
            for (int j = 0; j < s.rows; j++)
                expected += (filters.taps(c, 0, 0)[j] + made_scale * k.columns["u"].get({c, j})) *
                            u[size_t((t - j + s.rows) % s.rows) * row + c];
            sums.add(expected, k.back["y"].get({c, 0, t}));
        }
    CHECK(sums.worst <= 1e-6 * sums.peak);
}

} // namespace four_step_registers_test
