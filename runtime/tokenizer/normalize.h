// The normalizers of a tokenizer.json: NFC and its relatives.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace longwave::tokenizer {

enum class Form { nfc, nfd, nfkc, nfkd };

// The text in these forms, one after the other. Bytes that are not UTF-8 stay.
std::string normalized(std::string_view text, const std::vector<Form> &forms);

} // namespace longwave::tokenizer
