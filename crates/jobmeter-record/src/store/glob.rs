//! Names with `*` and `?`, as shells match them (no classes, no path rules).

pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut p) = (0, 0);
    // Where to go on when the last star should have eaten one more letter.
    let mut retry: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, at));
                p += 1;
            }
            Some(&letter) if letter == '?' || letter == text[at] => {
                p += 1;
                at += 1;
            }
            _ => match &mut retry {
                Some((star, from)) => {
                    *from += 1;
                    (p, at) = (*star, *from);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, text, expected) in [
            ("train*", "train-3", true),
            ("train*", "retrain", false),
            ("*a*b", "xxaxxbxb", true),
            ("*a*b", "xxaxxbx", false),
            ("?", "é", true),
            ("", "", true),
            ("*", "", true),
            ("a", "ab", false),
            ("****b", "aaaa", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
