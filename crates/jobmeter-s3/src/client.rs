//! Put, list and get.

use crate::account::Account;
use crate::error::Error;
use crate::place::Place;
use crate::sign::{self, Unsigned, canonical_query, encoded, hex};
use crate::wire::{Endpoint, SMALL_ANSWER_BYTES};
use crate::xml;
use jobmeter_http::{Body, Reply};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Seek};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Lists end after so many pages of a thousand keys: no job has as many ranks.
const MOST_PAGES: usize = 1_000;

/// Speaks to one bucket.
pub struct Client {
    account: Account,
    endpoint: Endpoint,
    /// `/bucket` where it is not in the name of the host.
    base: String,
}

/// One entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Hostile text.
    pub key: String,
    /// Size of the content.
    pub bytes: u64,
}

impl Client {
    /// For the bucket of `place`. Contacts nobody.
    pub fn new(account: Account, place: &Place) -> Result<Client, Error> {
        let bucket = &place.bucket;
        let amazon = format!("s3.{}.amazonaws.com", account.region);
        let (url, base) = match &account.endpoint {
            Some(url) => (url.clone(), format!("/{bucket}")),
            // The certificate of Amazon's hosts covers one label before the dot.
            None if bucket.contains(['.', '_']) => (format!("https://{amazon}"), format!("/{bucket}")),
            None => (format!("https://{bucket}.{amazon}"), String::new()),
        };
        Ok(Client { endpoint: Endpoint::parse(&url)?, account, base })
    }

    /// Uploads a file; what is there under the key is replaced. Read twice, for the signature covers the content.
    pub fn put(&self, key: &str, file: &mut File, deadline: Instant) -> Result<(), Error> {
        let (mut hash, mut length, mut buffer) = (Sha256::new(), 0u64, vec![0u8; 64 << 10]);
        loop {
            let count = file.read(&mut buffer).map_err(Error::File)?;
            if count == 0 {
                break;
            }
            hash.update(&buffer[..count]);
            length += count as u64;
        }
        file.rewind().map_err(Error::File)?;
        let sha256 = hex(&hash.finalize());
        let path = format!("{}/{key}", self.base);
        let body = Body::new(file, length);
        self.ask("PUT", &path, &[], &sha256, Some(body), SMALL_ANSWER_BYTES, deadline).map(drop)
    }

    /// All objects whose keys begin with `prefix`, in the order of the keys.
    pub fn list(&self, prefix: &str, deadline: Instant) -> Result<Vec<Object>, Error> {
        let mut found = Vec::new();
        let mut token: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let mut query = vec![("list-type", "2"), ("prefix", prefix)];
            query.extend(token.as_deref().map(|token| ("continuation-token", token)));
            let path = if self.base.is_empty() { "/".to_owned() } else { self.base.clone() };
            let reply = self.ask("GET", &path, &query, &empty(), None, SMALL_ANSWER_BYTES, deadline)?;
            let text = String::from_utf8_lossy(&reply.body);
            found.extend(xml::texts(&text, "Contents").into_iter().filter_map(|entry| {
                Some(Object { key: xml::text(entry, "Key")?, bytes: xml::text(entry, "Size")?.parse().ok()? })
            }));
            token = xml::text(&text, "NextContinuationToken");
            if token.is_none() {
                break;
            }
        }
        Ok(found)
    }

    /// The content of an object of at most so many bytes.
    pub fn get(&self, key: &str, limit_bytes: usize, deadline: Instant) -> Result<Vec<u8>, Error> {
        let path = format!("{}/{key}", self.base);
        self.ask("GET", &path, &[], &empty(), None, limit_bytes, deadline).map(|reply| reply.body)
    }

    #[allow(clippy::too_many_arguments, reason = "one request has as many parts")]
    fn ask(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, &str)],
        body_sha256: &str,
        body: Option<Body<'_>>,
        limit_bytes: usize,
        deadline: Instant,
    ) -> Result<Reply, Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
        let unsigned = Unsigned { method, host: &self.endpoint.host, path, query, headers: &[], body_sha256 };
        let headers = sign::headers(unsigned, &self.account, "s3", now);
        let mut target = encoded(path, true);
        if !query.is_empty() {
            target += &format!("?{}", canonical_query(query));
        }
        let reply = self.endpoint.send(method, &target, &headers, body, limit_bytes, deadline)?;
        if reply.status == 200 {
            return Ok(reply);
        }
        let text = String::from_utf8_lossy(&reply.body);
        let code = xml::text(&text, "Code").unwrap_or_default();
        // A word such as AccessDenied; anything else is not repeated.
        let code = if code.len() <= 60 && code.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            code
        } else {
            String::new()
        };
        Err(Error::Refused { status: reply.status, code })
    }
}

fn empty() -> String {
    hex(&Sha256::digest(b""))
}
