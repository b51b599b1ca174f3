//! Live prices against a server on loopback that answers well, late, wrongly or not at all.

use jobmeter_insight::catalogue::live::{Origin, find_live};
use jobmeter_insight::catalogue::{Catalogue, Filters};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const GIB: u64 = 1 << 30;
const ANSWER: &str = r#"[
  {"vendor_id":"aws","server_id":"x","name":"t9.small","vcpus":4,"memory_amount":16384,"cpu_architecture":"arm64",
   "gpu_count":0,"min_price_ondemand":0.001,"description":"ignored"},
  {"vendor_id":"aws","name":"t9.burst","vcpus":4,"memory_amount":16384,"cpu_allocation":"Burstable",
   "min_price_ondemand":0.0005},
  {"vendor_id":"gcp","name":"too-small","vcpus":1,"memory_amount":512,"min_price_ondemand":0.0001},
  {"vendor_id":"azure","name":"no-price","vcpus":8,"memory_amount":32768,"min_price_ondemand":null}]"#;

/// Serves one connection with the bytes given, after a pause; returns the endpoint and the request seen.
fn serve(answer: Vec<u8>, pause: Duration) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}/keeper/", listener.local_addr().unwrap());
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut byte = [0];
        while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
            request.push(byte[0]);
        }
        let _ = sender.send(String::from_utf8_lossy(&request).into_owned());
        std::thread::sleep(pause);
        // The client may have given up by now; that is what some of these tests are about.
        let _ = stream.write_all(&answer);
    });
    (endpoint, receiver)
}

fn http(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn filters() -> Filters {
    Filters { cpu: Some(4), memory_bytes: Some(16 * GIB), steady_cpu: true, ..Filters::default() }
}

#[test]
fn a_good_answer_is_marked_live() {
    let (endpoint, request) = serve(http("200 OK", ANSWER), Duration::ZERO);
    let (offers, origin) =
        find_live(Catalogue::embedded(), &filters(), 5, &endpoint, Duration::from_secs(10)).unwrap();
    assert_eq!(origin, Origin::Live { endpoint });
    assert_eq!(offers.len(), 1, "what is too small, burstable or without a price is left out: {offers:?}");
    assert_eq!((offers[0].type_name.as_str(), offers[0].price_per_hour), ("t9.small", 0.001));
    assert!(offers[0].source.starts_with("live, http://127.0.0.1"));
    let request = request.recv().unwrap();
    assert!(request.starts_with("GET /keeper/servers?vcpus_min=4&memory_min=16&"), "{request}");
    assert!(request.contains("\r\nHost: 127.0.0.1:"), "{request}");
}

#[test]
fn every_failure_falls_back_to_the_table_and_says_why() {
    let refused = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let none = Duration::ZERO;
    let redirect = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n".to_vec();
    let cases = [
        (serve(http("500 Oops", ""), none).0, "500"),
        (serve(redirect, none).0, "302"),
        (serve(b"garbage".to_vec(), none).0, "something that is not HTTP"),
        (serve(http("200 OK", "{\"detail\":\"x\"}"), none).0, "unexpected answer"),
        (serve(http("200 OK", "[]"), none).0, "no priced server"),
        (serve(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n[".to_vec(), none).0, "an incomplete answer"),
        (refused, "refused"),
        ("ftp://127.0.0.1".to_owned(), "must begin with http"),
        ("http://127.0.0.1:1/a b".to_owned(), "blank"),
    ];
    for (endpoint, wanted) in cases {
        let (offers, origin) =
            find_live(Catalogue::embedded(), &filters(), 3, &endpoint, Duration::from_secs(10)).unwrap();
        assert_eq!(offers, Catalogue::embedded().find(&filters(), 3).unwrap(), "{endpoint}");
        let Origin::EmbeddedAfterFailure { reason } = &origin else { panic!("{origin:?}") };
        assert!(reason.contains(wanted), "{reason} does not say {wanted}");
    }
}

#[test]
fn a_silent_service_costs_the_time_out_and_no_more() {
    let (endpoint, _request) = serve(http("200 OK", ANSWER), Duration::from_secs(30));
    let begun = Instant::now();
    let (_, origin) =
        find_live(Catalogue::embedded(), &filters(), 1, &endpoint, Duration::from_millis(300)).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(matches!(origin, Origin::EmbeddedAfterFailure { .. }), "{origin:?}");
}

#[test]
#[cfg(not(feature = "live"))]
fn https_is_refused_by_a_build_without_it_and_nothing_is_contacted() {
    let (_, origin) =
        find_live(Catalogue::embedded(), &filters(), 1, "https://127.0.0.1:1", Duration::from_secs(5))
            .unwrap();
    assert!(origin.to_string().contains("--features live"), "{origin}");
}

#[test]
fn a_region_is_answered_by_the_table_because_the_service_does_not_know_it() {
    let filters = Filters { region: Some("eu-west-1".into()), ..filters() };
    let (offers, origin) =
        find_live(Catalogue::embedded(), &filters, 1, "http://127.0.0.1:1", Duration::from_secs(5)).unwrap();
    assert_eq!(offers[0].region, "eu-west-1");
    assert!(origin.to_string().contains("neither regions nor categories"), "{origin}");
}
