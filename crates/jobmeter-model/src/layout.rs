//! Text that fits a terminal: which columns of a table have room, and prose broken between words.

/// Which columns of a table are shown within `width`: those of `dispensable` are left out, in that order, until the
/// others fit. `gap` blanks stand between two columns.
pub fn fitting(widths: &[usize], gap: usize, width: Option<usize>, dispensable: &[usize]) -> Vec<bool> {
    let mut shown: Vec<bool> = widths.iter().map(|width| *width > 0).collect();
    let Some(width) = width else { return shown };
    for place in dispensable {
        let used: usize =
            widths.iter().zip(&shown).filter(|(_, shown)| **shown).map(|(one, _)| one + gap).sum();
        if used <= width + gap {
            break;
        }
        shown[*place] = false;
    }
    shown
}

/// The text with every line that is longer than `width` broken between words. What follows stands below the last
/// column of its line, where that leaves it half of the width; a word that is longer than a line is broken too.
pub fn wrap(text: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| *width > 0) else { return text.to_owned() };
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches('\n');
        if bare.chars().count() <= width {
            out += line;
            continue;
        }
        out += &broken(bare, width).join("\n");
        out += &line[bare.len()..];
    }
    out
}

fn broken(line: &str, width: usize) -> Vec<String> {
    let indent = " ".repeat(last_column(line, width / 2));
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut has_word = false;
    for word in line.split_inclusive(' ') {
        let length = word.trim_end_matches(' ').chars().count();
        if has_word && length > 0 && current.chars().count() + length > width {
            lines.push(std::mem::replace(&mut current, indent.clone()).trim_end().to_owned());
            has_word = false;
        }
        for letter in word.chars() {
            if letter != ' ' && current.chars().count() >= width {
                lines.push(std::mem::replace(&mut current, indent.clone()).trim_end().to_owned());
            }
            current.push(letter);
        }
        has_word |= length > 0;
    }
    lines.push(current.trim_end().to_owned());
    lines
}

/// Where the last column begins: behind the last gap of two blanks or more within the first `reach` letters.
fn last_column(line: &str, reach: usize) -> usize {
    let letters: Vec<char> = line.chars().collect();
    let begins = |place: &usize| {
        let blank = |back: usize| place.checked_sub(back).is_some_and(|before| letters[before] == ' ');
        letters[*place] != ' ' && (blank(1) && blank(2))
    };
    (0..letters.len().min(reach + 1)).rev().find(begins).unwrap_or(2.min(reach))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_go_in_their_order_until_the_rest_fits() {
        assert_eq!(fitting(&[10, 10, 10], 2, None, &[1]), [true, true, true]);
        assert_eq!(fitting(&[10, 10, 10], 2, Some(34), &[1, 2]), [true, true, true]);
        assert_eq!(fitting(&[10, 10, 10], 2, Some(33), &[1, 2]), [true, false, true]);
        assert_eq!(fitting(&[10, 10, 10], 2, Some(5), &[1, 2]), [true, false, false]);
        assert_eq!(fitting(&[10, 0, 10], 2, None, &[]), [true, false, true], "an empty column takes no room");
    }

    #[test]
    fn what_is_broken_stands_below_its_column() {
        let text = "  memory  134 MB   peak of the one run plus 51 %\nshort\n";
        assert_eq!(
            wrap(text, Some(40)),
            "  memory  134 MB   peak of the one run\n                   plus 51 %\nshort\n"
        );
        assert_eq!(wrap(text, None), text);
        assert_eq!(wrap("one two three", Some(7)), "one two\n  three");
        assert_eq!(wrap(&"x".repeat(9), Some(4)), "xxxx\n  xx\n  xx\n  x", "a long word is broken");
    }

    #[test]
    fn no_line_is_longer_than_it_may_be_and_no_word_is_lost() {
        let text = "holds   the quick brown fox jumps over the lazy dog, twice; and äöü again  and again";
        for width in 1..90 {
            let wrapped = wrap(text, Some(width));
            assert!(wrapped.lines().all(|line| line.chars().count() <= width), "{width}: {wrapped}");
            let letters =
                |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
            assert_eq!(letters(&wrapped), letters(text), "{width}");
        }
    }
}
