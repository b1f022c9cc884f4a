// encode_text TOKENIZER VOCABULARY: for each text on standard input (its length as a line, then its bytes), a line
// of the ids that the command line makes of it. Fails when the bytes of the ids are not the text again.
#include "tools/cli/text/tokens.h"
#include <cstdio>
#include <cstdlib>
#include <iostream>

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const auto tokens =
        longwave::cli::tokens_of("", static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10)), argv[1]);
    if (!tokens) return std::fprintf(stderr, "%s\n", tokens.status().message().c_str()), 1;
    for (size_t n; std::cin >> n;) {
        std::string text(n, '\0'), again;
        std::cin.get();
        std::cin.read(text.data(), static_cast<std::streamsize>(n));
        for (const int32_t id : (*tokens)->encode(text)) {
            std::printf("%d ", id);
            again += (*tokens)->bytes(id);
        }
        std::printf("\n");
        if (again != text && again != ' ' + text) // some tokenizers put a space in front
            return std::fprintf(stderr, "a text of %zu bytes came back as %zu others\n", n, again.size()), 1;
    }
    return 0;
}
