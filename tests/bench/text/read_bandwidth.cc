// What one thread reads from memory: bench_read MEGABYTES SECONDS prints GB/s of its best and its
// median pass over that many bytes, each byte used once, as a product with a vector reads its
// weights.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <vector>

namespace {

typedef uint64_t Lanes __attribute__((vector_size(64)));

constexpr size_t ahead = 4096; // bytes, as the kernels fetch their weights

Lanes sum(const Lanes *data, size_t count) {
    Lanes a{}, b{}, c{}, d{};
    for (size_t i = 0; i + 4 <= count; i += 4) {
        for (size_t line = 0; line < 4; line++)
            __builtin_prefetch(reinterpret_cast<const char *>(data + i + line) + ahead);
        a += data[i], b += data[i + 1], c += data[i + 2], d += data[i + 3];
    }
    return (a + b) + (c + d);
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace

int main(int count, char **arguments) {
    const double megabytes = count == 3 ? std::atof(arguments[1]) : 0,
                 seconds = count == 3 ? std::atof(arguments[2]) : 0;
    if (!(megabytes >= 1 && megabytes <= 65536 && seconds > 0)) {
        std::fprintf(stderr, "usage: bench_read MEGABYTES SECONDS\n");
        return 2;
    }
    const size_t bytes = static_cast<size_t>(megabytes) * 1000000 / 256 * 256;
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("bench_read");
        return 4;
    }
    Lanes *data = static_cast<Lanes *>(memory);
    for (size_t i = 0; i < bytes / sizeof(Lanes); i++) data[i] = Lanes{} + i;
    Lanes total = sum(data, bytes / sizeof(Lanes));
    std::vector<double> passes;
    const double end = now() + seconds;
    while (passes.size() < 3 || now() < end) {
        const double begin = now();
        total += sum(data, bytes / sizeof(Lanes));
        passes.push_back(now() - begin);
    }
    std::sort(passes.begin(), passes.end());
    std::printf("{\"megabytes\": %.0f, \"best\": %.2f, \"median\": %.2f, \"sum\": %llu}\n", megabytes,
                1e-9 * double(bytes) / passes.front(), 1e-9 * double(bytes) / passes[passes.size() / 2],
                static_cast<unsigned long long>(total[0]));
    return 0;
}
