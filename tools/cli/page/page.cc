#include "tools/cli/page/page.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <cmath>

namespace longwave::cli {
namespace {

constexpr const char *style =
#include "page_style.inc"
    ;

} // namespace

std::string escaped(const std::string &text) {
    std::string out;
    for (const char c : printable_lines(text)) {
        switch (c) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        case '"': out += "&quot;"; break;
        default: out += c;
        }
    }
    return out;
}

std::string css_number(double value) {
    if (!std::isfinite(value)) return "0";
    std::string text = format("%.2f", value);
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text == "-0" ? "0" : text;
}

std::string colour(size_t i) { return "c" + std::to_string(i % 6 + 1); }

void Page::fact(const std::string &value, const std::string &what) {
    facts_ += "<div><b>" + escaped(value) + "</b><span>" + escaped(what) + "</span></div>\n";
}

void Page::section(const std::string &id, const std::string &title, const std::string &text,
                   std::string markup) {
    sections_.push_back({id, title, text, std::move(markup)});
}

std::string Page::html() const {
    std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                      "'unsafe-inline'\"/>\n"
                      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>" +
                      escaped(title_) + "</title>\n<style>" + style +
                      "</style>\n</head>\n<body>\n<header>\n<h1>" + escaped(title_) + "</h1>\n<p>" +
                      escaped(subtitle_) + "</p>\n<div class=\"facts\">\n" + facts_ + "</div>\n<nav>\n";
    for (const Section &s : sections_) out += "<a href=\"#" + s.id + "\">" + escaped(s.title) + "</a>\n";
    out += "</nav>\n</header>\n<main>\n";
    for (const Section &s : sections_) {
        out += "<section id=\"" + s.id + "\">\n<h2>" + escaped(s.title) + "</h2>\n";
        if (!s.text.empty()) out += "<p>" + escaped(s.text) + "</p>\n";
        out += s.markup + "</section>\n";
    }
    return out + "</main>\n</body>\n</html>\n";
}

Table::Table(std::vector<std::string> headings) {
    for (const std::string &heading : headings) {
        numbers_.push_back(heading.starts_with('>'));
        head_ += numbers_.back() ? "<th class=\"n\">" + escaped(heading.substr(1)) + "</th>"
                                 : "<th>" + escaped(heading) + "</th>";
    }
}

void Table::row(const std::vector<std::string> &cells) {
    rows_++;
    body_ += "<tr>";
    for (size_t i = 0; i < cells.size(); i++)
        body_ += (numbers_[i] ? "<td class=\"n\">" : "<td>") + cells[i] + "</td>";
    body_ += "</tr>\n";
}

std::string Table::html() const {
    return "<div class=\"scroll\"><table>\n<thead><tr>" + head_ + "</tr></thead>\n<tbody>\n" + body_ +
           "</tbody>\n</table></div>\n";
}

std::string stacked_bar(const std::vector<BarPart> &parts) {
    std::string out = "<div class=\"bar\">";
    for (const BarPart &part : parts)
        out += "<i class=\"" + part.style + "\" style=\"flex-grow:" + css_number(part.weight) +
               "\" title=\"" + escaped(part.title) + "\"></i>";
    return out + "</div>\n";
}

std::string legend(const std::vector<BarPart> &parts) {
    std::string out = "<ul class=\"legend\">";
    for (const BarPart &part : parts)
        out += "<li><i class=\"" + part.style + "\"></i>" + escaped(part.title) + "</li>";
    return out + "</ul>\n";
}

std::string cell_bar(double share, const std::string &text) {
    return "<span class=\"cell\"><i style=\"width:" + css_number(100 * std::clamp(share, 0.0, 1.0)) +
           "%\"></i></span> " + escaped(text);
}

std::string details(const std::string &summary, const std::string &markup) {
    return "<details><summary>" + escaped(summary) + "</summary>\n" + markup + "</details>\n";
}

} // namespace longwave::cli
