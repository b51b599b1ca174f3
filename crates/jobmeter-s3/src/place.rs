//! `s3://bucket/prefix`.

use crate::error::Error;

const SCHEME: &str = "s3://";

/// A bucket and what its keys begin with. The prefix has no slash at either end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name of the bucket.
    pub bucket: String,
    /// May be empty.
    pub prefix: String,
}

impl Place {
    /// Whether a text means object storage at all.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// Reads `s3://bucket/prefix`.
    pub fn parse(text: &str) -> Result<Place, Error> {
        let rest = text.strip_prefix(SCHEME).unwrap_or("");
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if bucket.len() < 3 || bucket.len() > 63 || !bucket.bytes().all(is_fine) {
            return Err(Error::setup("it names no bucket; write s3://BUCKET/PREFIX"));
        }
        let prefix = prefix.trim_matches('/');
        let is_odd = |part: &str| part.is_empty() || part == "." || part == "..";
        if !prefix.is_empty() && (prefix.split('/').any(is_odd) || prefix.chars().any(char::is_control)) {
            return Err(Error::setup("its prefix has an empty part, a dot or a control character"));
        }
        Ok(Place { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }

    /// The key of a file below the prefix.
    pub fn key(&self, relative: &str) -> String {
        if self.prefix.is_empty() { relative.to_owned() } else { format!("{}/{relative}", self.prefix) }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{SCHEME}{}", self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_and_prefix() {
        for (text, bucket, prefix) in
            [("s3://runs", "runs", ""), ("s3://runs/", "runs", ""), ("s3://my.runs/a/b/", "my.runs", "a/b")]
        {
            let place = Place::parse(text).expect(text);
            assert_eq!((place.bucket.as_str(), place.prefix.as_str()), (bucket, prefix));
            assert_eq!(place.to_string(), text.trim_end_matches('/'));
        }
        assert_eq!(Place::parse("s3://runs/a").unwrap().key("x.jobmeter"), "a/x.jobmeter");
        assert_eq!(Place::parse("s3://runs").unwrap().key("x.jobmeter"), "x.jobmeter");
        for text in [
            "",
            "runs",
            "s3://",
            "s3:///a",
            "s3://ab",
            "s3://a b c/d",
            "s3://runs/a//b",
            "s3://runs/../x",
            "s3://runs/a\n",
        ] {
            assert!(Place::parse(text).is_err(), "{text:?}");
        }
    }
}
