// model_format OUT.md: writes docs/model-format.md from docs/model-format.in.md. Run it at the root
// of the tree.
#include "tests/unit/formats/package/model_format.h"
#include <cstdio>
#include <fstream>
#include <sstream>

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: model_format OUT.md\n");
        return 2;
    }
    std::ifstream file("docs/model-format.in.md");
    std::ostringstream source;
    source << file.rdbuf();
    const auto page = longwave::package::model_format(source.str());
    if (!page) {
        std::fprintf(stderr, "%s", page.status().message().c_str());
        return 1;
    }
    std::ofstream out(argv[1]);
    out << *page;
    return out.flush() ? 0 : 4;
}
