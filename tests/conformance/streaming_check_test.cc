// The promise on the shipped keyword model: a stream gives the rows of the whole, and the same bits
// however it is cut, restarted, saved, copied or aged. Streams run the artifact as users compile
// it. Its whole-sequence entry holds one second by default, less than the model remembers, so the
// whole runs in a second artifact of the same package compiled with a longer --length: every row
// compared has its full past behind it in both.
#include "longwave/longwave.h"
#include "tests/conformance/keyword_model.h"
#include "tests/support/session.h"
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <doctest/doctest.h>
#include <functional>
#include <random>

namespace streaming_check_test {

using namespace longwave::test;

namespace {

constexpr double limit = 1e-5;
// What a row can depend on: 6 long convolutions of 64 taps, a mean of 15 rows and a kernel of 3 on
// rows of 320 samples, a kernel of 4 on frames that are 160 samples apart, and a frame of 400: (6 *
// 63 + 14 + 2) * 320 + 3 * 160 + 400 = 126960 samples, 397 rows of the output.
constexpr size_t receptive_rows = 397;
constexpr size_t samples = 12 * rate, rows = samples / block;

using Source = std::function<size_t()>; // the size of the next push

void push(lw_stream *stream, const float *x, size_t n, const Source &size, Rows *out) {
    for (size_t done = 0; done < n;) {
        size_t piece = std::min(size(), n - done);
        while (piece > 0) {
            size_t taken = 0;
            REQUIRE(lw_stream_push(stream, x + done, piece, &taken) == LW_OK);
            done += taken, piece -= taken;
            lw_stream_row row{};
            row.struct_size = sizeof row;
            lw_status status;
            while ((status = lw_stream_pull(stream, &row)) == LW_OK)
                if (out) (*out)[row.index].insert((*out)[row.index].end(), row.data, row.data + row.width);
            REQUIRE(status == LW_AGAIN);
        }
    }
}

Source always(size_t n) {
    return [n] { return n; };
}

// From single samples to most of a second; the kind changes now and then.
Source at_random(uint32_t seed) {
    return [generator = std::mt19937(seed), longest = size_t{1000}]() mutable {
        constexpr size_t kinds[] = {2, 30, block, 1000, 12000};
        if (generator() % 16 == 0) longest = kinds[generator() % 5];
        return 1 + generator() % longest;
    };
}

// The rows from `first` on are those of the reference, bit for bit.
bool same_bits(const Rows &a, const Rows &reference, size_t first) {
    for (const auto &[index, values] : reference) {
        const size_t from = first * (values.size() / rows);
        const auto found = a.find(index);
        if (found == a.end() || found->second.size() != values.size()) return false;
        if (std::memcmp(found->second.data() + from, values.data() + from,
                        (values.size() - from) * sizeof(float)) != 0)
            return false;
    }
    return true;
}

// Largest difference from the whole in the rows from `first` on, relative to the peak of its
// output.
double distance(const Rows &a, const Rows &whole, size_t first) {
    double worst = 0;
    for (const auto &[index, values] : whole) {
        const std::vector<float> &found = a.at(index);
        REQUIRE(found.size() == values.size());
        double peak = 0, error = 0;
        for (float value : values) peak = std::max<double>(peak, std::fabs(value));
        for (size_t i = first * (values.size() / rows); i < values.size(); i++) {
            const double difference = std::fabs(static_cast<double>(found[i]) - values[i]);
            error = std::isfinite(difference) ? std::max(error, difference) : INFINITY;
        }
        worst = std::max(worst, error / peak);
    }
    return worst;
}

// One variant's table.
class Table {
public:
    Table(const char *variant, Rows whole, Rows reference)
        : variant_(variant), whole_(std::move(whole)), reference_(std::move(reference)) {}

    void add(const char *what, const Rows &found, size_t first = 0) {
        const bool equal = same_bits(found, reference_, first);
        const double error = distance(found, whole_, first);
        std::printf("%-9s  %-52s %3zu rows  %-13s %.1e\n", variant_, what, rows - first,
                    equal ? "bit-equal" : "NOT bit-equal", error);
        INFO(variant_, ": ", what);
        CHECK(equal);
        CHECK(error <= limit);
    }

private:
    const char *variant_;
    Rows whole_, reference_;
};

} // namespace

TEST_CASE("keyword model: however a stream is cut, restarted, saved, copied or aged, its rows are those of "
          "the whole") {
    const std::string shipped = compiled("kws.lw"), longer = compiled("kws_whole.lw");
    const std::vector<float> x = Talk(1).next(samples);
    std::printf("12 s of made-up talk, both outputs; largest difference from the whole relative to the peak "
                "(limit %.0e)\n",
                limit);
    for (const char *variant : variants) {
        const ModelHandle model = open_variant(shipped, variant), whole_model = open_variant(longer, variant);
        if (!model || !whole_model) continue;
        const Rows whole = run(whole_model.get(), x);
        REQUIRE(whole.at(0).size() == rows * 12);
        const auto fresh = [&](const Source &size) {
            Stream stream(model.get());
            Rows found;
            push(stream, x.data(), samples, size, &found);
            return found;
        };
        Table table(variant, whole, fresh(always(block)));

        table.add("pushes of 1 sample", fresh(always(1)));
        table.add("pushes of 7 samples", fresh(always(7)));
        table.add("pushes of 160 samples", fresh(always(160)));
        table.add("pushes of 1000 samples", fresh(always(1000)));

        // Fifty cuttings become one line: the rows of the first that differs, if any.
        const Rows reference = fresh(always(block));
        Rows cut = reference;
        for (uint32_t seed = 0; seed < 50 && same_bits(cut, reference, 0); seed++)
            cut = fresh(at_random(seed));
        table.add("50 random cuts", cut);

        Stream first(model.get()), second(model.get());
        Talk other(2);
        push(first, other.next(123457).data(), 123457, at_random(1), nullptr);
        REQUIRE(lw_stream_reset(first) == LW_OK);
        Rows found;
        push(first, x.data(), samples, at_random(2), &found);
        table.add("after other audio and reset", found);

        // The middle is within a block, and rows wait in the queue: both are part of the state. The
        // stream that takes it over has heard other audio.
        constexpr size_t middle = samples / 2 + 123, waiting = 5 * block;
        const auto half = [&](Rows &out) {
            REQUIRE(lw_stream_reset(first) == LW_OK);
            push(first, x.data(), middle, at_random(3), &out);
            size_t taken = 0;
            REQUIRE(lw_stream_push(first, x.data() + middle, waiting, &taken) == LW_OK);
            REQUIRE(taken == waiting);
            push(second, other.next(54321).data(), 54321, at_random(4), nullptr);
        };
        const auto other_half = [&](Rows &out) {
            push(second, x.data() + middle + waiting, samples - middle - waiting, at_random(5), &out);
        };
        Rows loaded, copied;
        half(loaded);
        const std::vector<uint8_t> bytes = save(first);
        REQUIRE(lw_stream_load(second, bytes.data(), bytes.size()) == LW_OK);
        other_half(loaded);
        table.add("saved in the middle, loaded into another stream", loaded);
        half(copied);
        REQUIRE(lw_stream_copy(second, first) == LW_OK);
        other_half(copied);
        table.add("copied in the middle into another stream", copied);

        // What the model has forgotten must be gone to the last bit. The first rows after other
        // audio still remember it and are left out.
        const auto start = std::chrono::steady_clock::now();
        Stream old(model.get());
        Talk minutes(3);
        for (int i = 0; i < 10; i++)
            push(old, minutes.next(60 * rate).data(), 60 * rate, at_random(6), nullptr);
        Rows aged;
        push(old, x.data(), samples, at_random(7), &aged);
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        CHECK_FALSE(same_bits(aged, reference, 0)); // the first rows do remember
        table.add("after 10 minutes of other audio + receptive field", aged, receptive_rows);
        std::printf("%-9s  those 10 minutes took %.2f s\n", variant, seconds);
    }
}

} // namespace streaming_check_test
