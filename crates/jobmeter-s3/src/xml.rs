//! The little of S3's XML that we read: flat elements, found by name.

/// The texts of all elements of this name, in order.
pub(crate) fn texts<'a>(xml: &'a str, name: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut found = Vec::new();
    let mut rest = xml;
    while let Some(at) = rest.find(&open) {
        let inner = &rest[at + open.len()..];
        let Some(end) = inner.find(&close) else { break };
        found.push(&inner[..end]);
        rest = &inner[end + close.len()..];
    }
    found
}

pub(crate) fn text(xml: &str, name: &str) -> Option<String> {
    texts(xml, name).first().map(|text| plain(text))
}

/// The five entities that XML has of its own, and characters by their number.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let Some(end) = rest[at..].find(';') else { break };
        let name = &rest[at + 1..at + end];
        let number = name.strip_prefix("#x").map(|hex| u32::from_str_radix(hex, 16));
        let number = number.or_else(|| name.strip_prefix('#').map(str::parse));
        match (name, number) {
            ("amp", _) => out.push('&'),
            ("lt", _) => out.push('<'),
            ("gt", _) => out.push('>'),
            ("quot", _) => out.push('"'),
            ("apos", _) => out.push('\''),
            (_, Some(Ok(number))) => out.extend(char::from_u32(number)),
            _ => out.push_str(&rest[at..=at + end]),
        }
        rest = &rest[at + end + 1..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_entities() {
        let xml =
            "<L><Contents><Key>a&amp;b&#x2F;c</Key></Contents><Contents><Key>d</Key></Contents><Key>cut";
        assert_eq!(texts(xml, "Key"), ["a&amp;b&#x2F;c", "d"]);
        assert_eq!(text(xml, "Key").as_deref(), Some("a&b/c"));
        assert_eq!(text(xml, "None"), None);
        for odd in ["&", "&;", "&#xffffffff;", "&nbsp;", "a&b"] {
            assert!(!plain(odd).is_empty() || odd == "&#xffffffff;");
        }
    }
}
