// encode_text TOKENIZER VOCABULARY [SPECIAL [loses]]: reads texts from standard input, each as its length, a
// line end and its bytes. Prints the ids of each text on a line. SPECIAL: bits of LW_TEXT_BEGIN and
// LW_TEXT_END. Fails when the decoded ids are not the text again, unless the tokenizer `loses` it.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <longwave/text.h>
#include <string>
#include <vector>

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    const auto special = static_cast<uint32_t>(argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 0);
    const bool loses = argc > 4;
    lw_tokenizer_options options = {};
    options.struct_size = sizeof options;
    options.vocabulary = static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10));
    lw_tokenizer *tokenizer = nullptr;
    lw_text_decoder *decoder = nullptr;
    if (lw_tokenizer_open(argv[1], &options, &tokenizer) != LW_OK ||
        lw_text_decoder_create(tokenizer, &decoder) != LW_OK)
        return std::fprintf(stderr, "%s\n", lw_last_error()), 1;
    for (size_t n; std::cin >> n;) {
        std::string text(n, '\0'), again;
        std::cin.get();
        std::cin.read(text.data(), static_cast<std::streamsize>(n));
        size_t count = 0;
        if (lw_tokenizer_encode_special(tokenizer, text.data(), n, special, nullptr, 0, &count) != LW_OK)
            return std::fprintf(stderr, "%s\n", lw_last_error()), 1;
        std::vector<int32_t> ids(count);
        if (lw_tokenizer_encode_special(tokenizer, text.data(), n, special, ids.data(), count, &count) !=
            LW_OK)
            return 1;
        const char *piece = nullptr;
        size_t size = 0;
        for (const int32_t id : ids) {
            std::printf("%d ", id);
            if (lw_text_decoder_push(decoder, id, &piece, &size) != LW_OK) return 1;
            again.append(piece, size);
        }
        if (lw_text_decoder_finish(decoder, &piece, &size) != LW_OK) return 1;
        again.append(piece, size);
        std::printf("\n");
        if (!loses && again != text && again != ' ' + text) // some tokenizers put a space in front
            return std::fprintf(stderr, "a text of %zu bytes came back as %zu others\n", n, again.size()), 1;
    }
    lw_text_decoder_destroy(decoder);
    lw_tokenizer_close(tokenizer);
    return 0;
}
