// Foreign text, such as names from files and replies of other programs, in a form that a reader
// can trust. Every command prints such text through these functions.
//
// A terminal obeys control characters, and a text that turns the direction of writing looks like
// another one. So these are shown as escapes, such as \u202e: characters of the Unicode categories
// Cc, Cf, Zl and Zp, all others that have no appearance (Default_Ignorable_Code_Point), and bytes
// that are not UTF-8 (\xff).
#pragma once
#include <cstdio>
#include <iosfwd>
#include <string>
#include <string_view>

namespace longwave::cli {

// One line: line ends and tabs are escapes too.
std::string printable(std::string_view text);
// Several lines: line ends and tabs stay.
std::string printable_lines(std::string_view text);
// What a model writes: the two joiners that scripts need (U+200C, U+200D) stay as well.
std::string printable_writing(std::string_view text);
// printable, cut to about so many bytes. For text of which one line is enough.
std::string printable_start(std::string_view text, size_t bytes);
// That of the last line that is not empty. For what another program printed before it failed.
std::string printable_last_line(const std::string &text, size_t bytes);

// JSON text whose strings have the same characters as JSON escapes, which keeps their values.
// `json` is valid JSON in UTF-8.
std::string printable_json(std::string_view json);

// Prints to stdout or stderr. Every command prints by this, JSON too. A name that may have line ends
// goes through printable() first.
void print_text(FILE *to, const char *pattern, ...) __attribute__((format(printf, 2, 3)));

// A line on stderr about a result that is there and may not be what was wanted.
void print_warning(const std::string &text);

// stderr for code that writes to a stream: whole lines, by print_text.
std::ostream &printable_log();

} // namespace longwave::cli
