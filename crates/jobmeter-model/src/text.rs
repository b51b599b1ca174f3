//! Hostile text on its way to a terminal.

/// The text with every character that could move a cursor, change a colour, reorder the line or break it
/// shown as an escape (`\n`, `\u{1b}`); everything printable stays as it is.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() || reorders(letter) {
            out.extend(letter.escape_default());
        } else {
            out.push(letter);
        }
    }
    out
}

/// Bidirectional controls, line and paragraph separators, zero-width marks, the byte order mark, tags.
fn reorders(letter: char) -> bool {
    matches!(letter, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// `printable`, cut to at most `width` characters with an ellipsis.
pub fn printable_within(text: &str, width: usize) -> String {
    // Each input character gives at least one output character, so a longer prefix is never needed.
    let end = text.char_indices().nth(width + 1).map_or(text.len(), |(at, _)| at);
    let shown = printable(&text[..end]);
    if shown.chars().count() <= width {
        return shown;
    }
    shown.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// Text for elements and attributes of XML and HTML. Line breaks are kept by writing them as references, for in an
/// attribute they would become blanks. XML 1.0 has no way at all to write most control characters.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' => out.push_str("&#9;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}');
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_becomes_visible() {
        assert_eq!(printable("a\u{1b}[31mb\nc\u{202e}d\u{9b}"), "a\\u{1b}[31mb\\nc\\u{202e}d\\u{9b}");
        assert_eq!(printable("naïve 日本 'x'"), "naïve 日本 'x'");
    }

    #[test]
    fn xml_has_no_markup_and_no_control_characters() {
        assert_eq!(xml("<b a='1'>&\"\n\u{1}é"), "&lt;b a=&#39;1&#39;&gt;&amp;&quot;&#10;\u{fffd}é");
    }

    #[test]
    fn cutting_keeps_the_width() {
        assert_eq!(printable_within("abcdef", 6), "abcdef");
        assert_eq!(printable_within("abcdefg", 6), "abcde…");
        assert_eq!(printable_within("\n\n\n\n", 6), "\\n\\n\\…");
    }
}
