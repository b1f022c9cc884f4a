// bench_conv [--target NAME] [--lengths 256,1024] [--seconds N] [--patient] [--limit RATIO]: JSON lines on standard output. Pins itself to the processor it
// is on. With --limit: exit 1 when a ratio against the right-angle form is above it.
#include "tests/bench/conv/bench_conv.h"
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <sstream>
#include <string>

int main(int argc, char **argv) {
    longwave::bench::ConvOptions options;
    double limit = 0;
    for (int i = 1; i < argc; i++) {
        const std::string flag = argv[i];
        if (flag == "--patient") {
            options.patient = true;
            continue;
        }
        if (i + 1 == argc) return fprintf(stderr, "bench_conv: %s needs a value\n", flag.c_str()), 2;
        const std::string value = argv[++i];
        if (flag == "--target") options.target = value;
        else if (flag == "--seconds") options.seconds = std::atof(value.c_str());
        else if (flag == "--limit") limit = std::atof(value.c_str());
        else if (flag == "--lengths") {
            options.lengths.clear();
            std::stringstream list(value);
            for (std::string one; std::getline(list, one, ',');) options.lengths.push_back(std::atoi(one.c_str()));
        } else return fprintf(stderr, "bench_conv: unknown option %s\n", flag.c_str()), 2;
    }
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    sched_setaffinity(0, sizeof here, &here);
    puts(longwave::bench::conv_environment(options).c_str());
    auto results = longwave::bench::bench_conv(options, [](const longwave::bench::ConvResult &r) {
        puts(longwave::bench::conv_json(r).c_str());
        fflush(stdout);
    });
    if (!results) return fprintf(stderr, "bench_conv: %s\n", results.status().message().c_str()), 4;
    for (const auto &r : *results)
        if (limit > 0 && r.peer == "fftw-right-angle" && r.ratio > limit)
            return fprintf(stderr, "bench_conv: length %d is above the limit %.2f\n", r.length, limit), 1;
    return 0;
}
