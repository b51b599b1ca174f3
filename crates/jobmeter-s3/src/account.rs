//! Where the storage is and as whom we ask: the variables that every S3 client reads, and a profile in
//! `~/.aws/credentials`. Nothing is asked of a metadata service.

use crate::error::Error;
use std::fmt;
use std::path::PathBuf;

/// A file of credentials has some lines.
const LARGEST_FILE_BYTES: u64 = 1 << 20;

/// Credentials, region and endpoint.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// Names the key; no secret.
    pub access_key_id: String,
    /// What requests are signed with.
    pub secret_access_key: String,
    /// Of temporary credentials; sent with each request.
    pub session_token: Option<String>,
    /// `us-east-1` where nothing names one.
    pub region: String,
    /// Of a service that is not Amazon's, such as `http://127.0.0.1:9000`; buckets are then part of the path.
    pub endpoint: Option<String>,
}

/// Without the secrets.
impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("region", &self.region)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

impl Account {
    /// From the variables of this process and the files that they and `HOME` name.
    pub fn from_environment() -> Result<Account, Error> {
        Account::read(&|name| std::env::var(name).ok(), &|path| {
            let is_small =
                std::fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() <= LARGEST_FILE_BYTES);
            if is_small { std::fs::read_to_string(path).ok() } else { None }
        })
    }

    fn read(
        variable: &dyn Fn(&str) -> Option<String>,
        file: &dyn Fn(PathBuf) -> Option<String>,
    ) -> Result<Account, Error> {
        let set = |name: &str| {
            variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let in_home = |name: &str| set("HOME").map(|home| PathBuf::from(home).join(".aws").join(name));
        let profile = set("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        let credentials =
            set("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from).or_else(|| in_home("credentials"));
        let config = set("AWS_CONFIG_FILE").map(PathBuf::from).or_else(|| in_home("config"));
        let (credentials, config) =
            (credentials.and_then(file).unwrap_or_default(), config.and_then(file).unwrap_or_default());
        let stored = |key: &str| {
            entry(&credentials, &profile, key)
                .or_else(|| entry(&config, &profile, key))
                .or_else(|| entry(&config, &format!("profile {profile}"), key))
        };
        // A key from one source with the secret of another would only be refused.
        let (id, secret, token) = match (set("AWS_ACCESS_KEY_ID"), set("AWS_SECRET_ACCESS_KEY")) {
            (Some(id), Some(secret)) => (Some(id), Some(secret), set("AWS_SESSION_TOKEN")),
            _ => (stored("aws_access_key_id"), stored("aws_secret_access_key"), stored("aws_session_token")),
        };
        let (Some(access_key_id), Some(secret_access_key)) = (id, secret) else {
            return Err(Error::setup(
                "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them into ~/.aws/credentials",
            ));
        };
        let region = set("AWS_REGION").or_else(|| set("AWS_DEFAULT_REGION")).or_else(|| stored("region"));
        let endpoint =
            set("AWS_ENDPOINT_URL_S3").or_else(|| set("AWS_ENDPOINT_URL")).or_else(|| stored("endpoint_url"));
        Ok(Account {
            access_key_id,
            secret_access_key,
            session_token: token,
            region: region.unwrap_or_else(|| "us-east-1".to_owned()),
            endpoint: endpoint.map(|endpoint| endpoint.trim_end_matches('/').to_owned()),
        })
    }
}

/// The value of `key` in the section `[profile]`.
fn entry(text: &str, profile: &str, key: &str) -> Option<String> {
    let mut is_ours = false;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_ours = section.trim() == profile;
        } else if let Some((name, value)) = line.split_once('=')
            && is_ours
            && name.trim() == key
        {
            return Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(variables: &[(&str, &str)], files: &[(&str, &str)]) -> Result<Account, Error> {
        let find = |list: &[(&str, &str)], name: &str| {
            list.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        Account::read(&|name| find(variables, name), &|path| find(files, &path.to_string_lossy()))
    }

    #[test]
    fn the_environment_goes_before_the_profile() {
        let keys = [
            ("AWS_ACCESS_KEY_ID", "AKIA"),
            ("AWS_SECRET_ACCESS_KEY", "s3cret"),
            ("AWS_SESSION_TOKEN", "t0ken"),
        ];
        let found = account(&keys, &[]).expect("an account");
        assert_eq!(
            (found.region.as_str(), found.session_token.as_deref(), found.endpoint.as_deref()),
            ("us-east-1", Some("t0ken"), None)
        );
        let shown = format!("{found:?}");
        assert!(!shown.contains("s3cret") && !shown.contains("t0ken") && !shown.contains("AKIA"), "{shown}");
        let more = [
            &keys[..],
            &[
                ("AWS_DEFAULT_REGION", "eu-central-1"),
                ("AWS_ENDPOINT_URL", "http://a/"),
                ("AWS_ENDPOINT_URL_S3", "http://b:9000/"),
            ],
        ]
        .concat();
        let found = account(&more, &[]).expect("an account");
        assert_eq!(
            (found.region.as_str(), found.endpoint.as_deref()),
            ("eu-central-1", Some("http://b:9000"))
        );
    }

    #[test]
    fn profiles_are_read_from_the_usual_files() {
        let files = [
            (
                "/h/.aws/credentials",
                "# mine\n[default]\naws_access_key_id = A\naws_secret_access_key=B\n[work]\naws_access_key_id=C\naws_secret_access_key=D=\n",
            ),
            ("/h/.aws/config", "[default]\nregion = eu-west-1\n[profile work]\nregion=us-west-2\n"),
        ];
        let found = account(&[("HOME", "/h")], &files).expect("an account");
        assert_eq!((found.access_key_id.as_str(), found.region.as_str()), ("A", "eu-west-1"));
        // An id without its secret is no pair.
        let found = account(&[("HOME", "/h"), ("AWS_PROFILE", "work"), ("AWS_ACCESS_KEY_ID", "X")], &files)
            .expect("an account");
        assert_eq!(
            (found.access_key_id.as_str(), found.secret_access_key.as_str(), found.region.as_str()),
            ("C", "D=", "us-west-2")
        );
        assert!(account(&[], &[]).is_err_and(|error| error.to_string().contains("AWS_ACCESS_KEY_ID")));
    }
}
