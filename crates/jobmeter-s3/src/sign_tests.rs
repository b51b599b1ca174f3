use super::*;

/// The key pair of Amazon's published examples; it opens nothing.
fn example() -> Account {
    Account {
        access_key_id: "AKIDEXAMPLE".into(),
        secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
        session_token: None,
        region: "us-east-1".into(),
        endpoint: None,
    }
}

const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// 2015-08-30 12:36:00 UTC, the moment of the test suite of Signature Version 4.
const SUITE_NS: u64 = 1_440_938_160_000_000_000;
/// 2013-05-24 00:00:00 UTC, the moment of the examples in the manual of S3.
const S3_NS: u64 = 1_369_353_600_000_000_000;

fn signature(request: Unsigned<'_>, account: &Account, service: &str, now_ns: u64) -> String {
    let headers = headers(request, account, service, now_ns);
    let (_, authorization) = headers.last().expect("the signature is last");
    authorization.rsplit('=').next().expect("a signature").to_owned()
}

#[test]
fn requests_of_the_published_suite_have_their_signatures() {
    let plain = Unsigned {
        method: "GET",
        host: "example.amazonaws.com",
        path: "/",
        query: &[],
        headers: &[],
        body_sha256: EMPTY,
    };
    let of = |request| signature(request, &example(), "service", SUITE_NS);
    // get-vanilla
    assert_eq!(of(plain), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    // get-vanilla-query-order-key-case
    let query = [("Param2", "value2"), ("Param1", "value1")];
    assert_eq!(
        of(Unsigned { query: &query, ..plain }),
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
    );
    // get-header-value-trim has blanks that are cut; post-vanilla another verb.
    assert_eq!(
        of(Unsigned { method: "POST", ..plain }),
        "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
    );
}

#[test]
fn requests_of_the_manual_of_s3_have_their_signatures() {
    let account = Account {
        access_key_id: "AKIAIOSFODNN7EXAMPLE".into(),
        secret_access_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
        ..example()
    };
    let host = "examplebucket.s3.amazonaws.com";
    let of = |request| signature(request, &account, "s3", S3_NS);
    let get = Unsigned {
        method: "GET",
        host,
        path: "/test.txt",
        query: &[],
        headers: &[("range", "bytes=0-9")],
        body_sha256: EMPTY,
    };
    assert_eq!(of(get), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
    let put = Unsigned {
        method: "PUT",
        host,
        path: "/test$file.text",
        query: &[],
        headers: &[("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
        body_sha256: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
    };
    assert_eq!(of(put), "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
    let list = Unsigned {
        method: "GET",
        host,
        path: "/",
        query: &[("max-keys", "2"), ("prefix", "J")],
        headers: &[],
        body_sha256: EMPTY,
    };
    assert_eq!(of(list), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

#[test]
fn hmac_of_known_texts() {
    // RFC 4231, cases 2 and 6 (a key longer than a block).
    assert_eq!(
        hex(&hmac(b"Jefe", b"what do ya want for nothing?")),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    );
    assert_eq!(
        hex(&hmac(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First")),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    );
}

#[test]
fn a_session_token_is_signed_and_odd_keys_are_encoded() {
    let account = Account { session_token: Some("t0ken".into()), ..example() };
    let request =
        Unsigned {
            method: "GET", host: "h", path: "/b/a b+é", query: &[], headers: &[], body_sha256: EMPTY
        };
    let all = headers(request, &account, "s3", S3_NS);
    assert!(all.iter().any(|(name, value)| name == "x-amz-security-token" && value == "t0ken"));
    assert!(all.last().is_some_and(|(_, text)| {
        text.contains("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,")
    }));
    assert_eq!(encoded("/b/a b+é", true), "/b/a%20b%2B%C3%A9");
}
