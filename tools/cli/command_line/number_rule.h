// The one check of every number on the command line. CLI11 would also read nan, -1 as an unsigned
// number, octal and hexadecimal.
#pragma once
#include <string>

namespace longwave::cli {

struct NumberRule {
    enum class Form { whole, real, size }; // size: bytes, also as 500K, 64M or 2G
    Form form;
    long double low = 0, high; // both included
    std::string range = "0 or more";

    // `most`: what the type of the value holds.
    NumberRule(Form of, long double most) : form(of), high(most) {}
    void narrow(long double from, long double to, const std::string &words);

    // Replaces the text by a decimal number. Empty, or what is wrong.
    std::string read(std::string &text) const;
};

} // namespace longwave::cli
