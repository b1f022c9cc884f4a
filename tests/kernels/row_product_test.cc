// row_product: products of two matrices in each row, against sums in float64.
#include "tests/kernels/check.h"
#include "tests/kernels/random.h"

namespace row_product_test {

using namespace longwave::test;

namespace {

Case product(int batches, int left, int inner, int columns, int rows) {
    return {spec("row_product", fmt::format(R"("batches":{},"left":{},"inner":{},"columns":{},"rows":{})",
                                            batches, left, inner, columns, rows)),
            [=](Kernel &k) {
                compare(
                    k, "z",
                    [&](const std::vector<int> &at) {
                        if (at[0] >= batches * left * columns) return 0.0; // padding
                        const int column = at[0] % columns, row = at[0] / columns, batch = row / left;
                        double sum = 0;
                        for (int i = 0; i < inner; i++)
                            sum += k["x"].get({row * inner + i, at[1]}) *
                                   k["y"].get({(batch * inner + i) * columns + column, at[1]});
                        return sum;
                    },
                    // One chain of sums: the roundings of its steps add up like a random walk.
                    limit(1) + 3e-8 * std::sqrt(inner));
            }};
}

} // namespace

TEST_CASE("row_product: outer products, products of vectors, and matrices of any size") {
    run_everywhere({product(1, 1, 1, 1, 1), product(1, 5, 1, 7, 3), product(4, 16, 1, 16, 9),
                    product(1, 1, 64, 1, 8), product(8, 1, 12, 1, 5), product(3, 2, 5, 3, 4),
                    product(2, 1, 16, 24, 33), product(1, 1, 7, 2, 2), product(1, 3, 2048, 1, 2),
                    product(2048, 1, 1, 1, 2), product(2, 17, 33, 19, 1)});
}

TEST_CASE("random: row_product") {
    Random("row_product").run([](Random &r) {
        return product(r.size(9), r.size(20), r.size(40), r.size(40), r.rows(40));
    });
}

} // namespace row_product_test
