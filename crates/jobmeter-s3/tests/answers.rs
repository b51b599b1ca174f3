//! The client against servers of one answer on loopback; a whole S3 server is in tools/test_storage.py.

use jobmeter_s3::{Account, Client, Error, Object, Place};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const SECRET: &str = "s3cret-of-the-test";

/// Answers each request in turn and hands over what was asked; `None` never answers.
fn server(answers: Vec<Option<String>>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for answer in answers {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let mut asked = String::new();
            let mut buffer = [0u8; 4096];
            while !is_whole(&asked) {
                match stream.read(&mut buffer) {
                    Ok(count) if count > 0 => asked += &String::from_utf8_lossy(&buffer[..count]),
                    _ => break,
                }
            }
            drop(sender.send(asked));
            match answer {
                Some(text) => drop(stream.write_all(text.as_bytes())),
                None => held.push(stream),
            }
        }
        // Connections that get no answer stay open to the end of the test.
        while !held.is_empty() {
            std::thread::park();
        }
    });
    (url, receiver)
}

fn is_whole(asked: &str) -> bool {
    let Some((head, body)) = asked.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse::<usize>().ok());
    body.len() >= length.unwrap_or(0)
}

fn answer(status: &str, body: &str) -> Option<String> {
    Some(format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

fn client(endpoint: String) -> (Client, Place) {
    let place = Place::parse("s3://runs/a").expect("a place");
    let account = Account {
        access_key_id: "AKID".into(),
        secret_access_key: SECRET.into(),
        session_token: Some("t0ken".into()),
        region: "us-east-1".into(),
        endpoint: Some(endpoint),
    };
    (Client::new(account, &place).expect("a client"), place)
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn put(endpoint: String, deadline: Instant) -> Result<(), Error> {
    let (client, place) = client(endpoint);
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(b"a run").expect("written");
    std::io::Seek::rewind(&mut file).expect("rewound");
    client.put(&place.key("x 1.jobmeter"), &mut file, deadline)
}

#[test]
fn a_file_is_put_under_its_key_signed_and_whole() {
    let (url, asked) = server(vec![answer("200 OK", "")]);
    put(url, soon()).expect("it is taken");
    let asked = asked.recv().expect("a request");
    assert!(asked.starts_with("PUT /runs/a/x%201.jobmeter HTTP/1.1\r\nHost: 127.0.0.1:"), "{asked}");
    assert!(asked.ends_with("\r\n\r\na run") && asked.contains("Content-Length: 5\r\n"), "{asked}");
    let hash = "x-amz-content-sha256: 7666f0507e9b2d38e9dee8b3a19b4379c41fe8b33413fdc329fcf115b2c76a65";
    assert!(asked.contains(hash) && asked.contains("x-amz-security-token: t0ken"), "{asked}");
    assert!(
        asked.contains("authorization: AWS4-HMAC-SHA256 Credential=AKID/") && !asked.contains(SECRET),
        "{asked}"
    );
}

#[test]
fn a_refusal_says_why_and_holds_no_secret() {
    let denied = "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>no</Message></Error>";
    for (reply, expected) in [
        (answer("403 Forbidden", denied), "the object storage answered AccessDenied (status 403)"),
        (answer("500 Oh", ""), "the object storage answered with status 500"),
        (
            answer("503 Slow", "<Error><Code>a\nb</Code></Error>"),
            "the object storage answered with status 503",
        ),
        (answer("307 There", ""), "the object storage answered with status 307"),
        (Some("SSH-2.0\r\n\r\n".into()), "the object storage answered with something that is not HTTP"),
    ] {
        let (url, _asked) = server(vec![reply]);
        let error = put(url, soon()).expect_err("refused");
        assert_eq!(error.to_string(), expected);
        assert!(!format!("{error:?}").contains(SECRET));
    }
}

#[test]
fn nobody_and_nothing_end_by_the_deadline() {
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let error = put(format!("http://{closed}"), soon()).expect_err("nobody listens");
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    let (url, _asked) = server(vec![None]);
    let error = put(url, Instant::now() + Duration::from_millis(200)).expect_err("no answer");
    assert_eq!(error.to_string(), "the object storage did not answer in time");
}

#[test]
fn a_list_goes_on_until_there_is_no_more() {
    let page = |key: &str, more: &str| {
        answer("200 OK", &format!("<R><Contents><Key>a/{key}</Key><Size>5</Size></Contents>{more}</R>"))
    };
    let next = "<NextContinuationToken>t+1</NextContinuationToken>";
    let (url, asked) = server(vec![page("x&amp;y", next), page("z", "")]);
    let (client, _) = client(url);
    let found = client.list("a/", soon()).expect("a list");
    let object = |key: &str| Object { key: key.into(), bytes: 5 };
    assert_eq!(found, [object("a/x&y"), object("a/z")]);
    assert!(asked.recv().is_ok_and(|text| text.starts_with("GET /runs?list-type=2&prefix=a%2F HTTP")));
    assert!(asked.recv().is_ok_and(|text| text.starts_with("GET /runs?continuation-token=t%2B1&list-type=2&prefix=a%2F ")));
}
