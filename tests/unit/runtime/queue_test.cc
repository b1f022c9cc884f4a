// The queue of a stream against a plain list of rows.
#include "runtime/stream/queue.h"
#include <algorithm>
#include <deque>
#include <doctest/doctest.h>
#include <random>
#include <vector>

namespace queue_test {

using namespace longwave::runtime;

namespace {

struct Row {
    uint32_t output;
    uint64_t number;
    std::vector<float> values;
    bool operator==(const Row &) const = default;
};

constexpr uint32_t widths[] = {3, 1, 5};
constexpr uint32_t capacity = 7;

struct Rows {
    std::vector<uint64_t> memory;
    Queue queue;

    Rows() {
        Parts measure(nullptr);
        queue.build(capacity, 5, measure);
        memory.resize(measure.used() / sizeof(uint64_t));
        Parts parts(reinterpret_cast<uint8_t *>(memory.data()));
        queue.build(capacity, 5, parts);
    }
    void add(uint32_t output, uint64_t number, uint32_t n, std::deque<Row> &list) {
        const uint32_t at = queue.append({number, n, output, widths[output], 0});
        for (uint32_t r = 0; r < n; ++r) {
            std::vector<float> values;
            for (uint32_t i = 0; i < widths[output]; ++i)
                values.push_back(static_cast<float>(100 * (number + r) + 10 * output + i));
            memcpy(queue.row(at + r), values.data(), values.size() * 4);
            list.push_back({output, number + r, values});
        }
    }
    std::deque<Row> seen() const {
        std::deque<Row> rows;
        for (uint32_t i = 0, at = 0; i < queue.runs(); ++i) {
            const QueuedRows &run = queue.run(i);
            for (uint32_t r = 0; r < run.rows; ++r, ++at) {
                std::vector<float> values(run.width);
                memcpy(values.data(), queue.row(at), values.size() * 4);
                rows.push_back({run.output, run.row + r, values});
            }
        }
        return rows;
    }
};

} // namespace

TEST_CASE("queue: whatever is appended, dropped and forgotten, the rows are those of a plain list") {
    std::mt19937 random(3);
    Rows rows;
    std::deque<Row> list;
    uint64_t next[3] = {};
    size_t longest = 0, wrapped = 0;
    for (int step = 0; step < 20000; ++step) {
        const uint32_t output = random() % 3;
        switch (random() % 4) {
        case 0:
        case 1:
            if (const uint32_t room = capacity - rows.queue.rows()) {
                const uint32_t n = 1 + random() % room;
                rows.add(output, next[output], n, list);
                next[output] += n + (random() % 4 == 0); // now and then one is left out
            }
            break;
        case 2:
            if (rows.queue.rows() > 0) {
                const uint32_t n = 1 + random() % rows.queue.run(0).rows;
                rows.queue.drop(n);
                list.erase(list.begin(), list.begin() + n);
            }
            break;
        default:
            if (random() % 4) break;
            rows.queue.forget(output);
            std::erase_if(list, [&](const Row &row) { return row.output == output; });
        }
        REQUIRE(rows.queue.rows() == list.size());
        REQUIRE(rows.seen() == list);
        longest = std::max<size_t>(longest, rows.queue.runs());
        wrapped += rows.queue.rows() > 0 && rows.queue.in_line(0, rows.queue.rows()) < rows.queue.rows();
        for (uint32_t i = 1; i < rows.queue.runs(); ++i) { // the same rows make the same runs
            const QueuedRows &a = rows.queue.run(i - 1), &b = rows.queue.run(i);
            REQUIRE_FALSE((a.output == b.output && a.row + a.rows == b.row));
        }
    }
    CHECK(longest == capacity);
    CHECK(wrapped > 1000);
}

} // namespace queue_test
