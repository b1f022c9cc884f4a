// HTML text: one file without network, for light and dark screens and for phones. Everything that
// is not markup passes through escaped().
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::cli {

// Text for HTML and its attributes: valid UTF-8 without control characters.
std::string escaped(const std::string &text);

// A number with a dot and without an exponent, as SVG and CSS want it: "12.5".
std::string css_number(double value);

// A page with a title, sections and their table of contents.
class Page {
public:
    Page(std::string title, std::string subtitle)
        : title_(std::move(title)), subtitle_(std::move(subtitle)) {}
    // The figures below the title: "1.9 MB", "file".
    void fact(const std::string &value, const std::string &what);
    // `id`: letters; `text`: one paragraph about the section. Both become text, not markup.
    void section(const std::string &id, const std::string &title, const std::string &text,
                 std::string markup);
    std::string html() const;

private:
    struct Section {
        std::string id, title, text, markup;
    };
    std::string title_, subtitle_, facts_;
    std::vector<Section> sections_;
};

// A table that scrolls sideways on a narrow screen. Cells are markup.
class Table {
public:
    // A heading that begins with '>' has numbers below it.
    explicit Table(std::vector<std::string> headings);
    void row(const std::vector<std::string> &cells);
    bool empty() const { return rows_ == 0; }
    std::string html() const;

private:
    std::vector<bool> numbers_;
    std::string head_, body_;
    size_t rows_ = 0;
};

// A part of a bar: its weight, CSS class ("c1" to "c6" or "other") and what it is.
struct BarPart {
    double weight = 0;
    std::string style, title;
};
std::string stacked_bar(const std::vector<BarPart> &parts);
std::string legend(const std::vector<BarPart> &parts);
// A bar in a table cell, `share` of its width, with the text beside it.
std::string cell_bar(double share, const std::string &text);
// Closed until the reader opens it.
std::string details(const std::string &summary, const std::string &markup);
inline std::string code(const std::string &text) { return "<code>" + escaped(text) + "</code>"; }
// The CSS class of colour number i.
std::string colour(size_t i);

} // namespace longwave::cli
