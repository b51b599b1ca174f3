//! A small HTTP server on 127.0.0.1 that records what it was asked.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn read(stream: &TcpStream) -> Option<Request> {
        let mut lines = BufReader::new(stream).lines();
        let first = lines.next()?.ok()?;
        let mut words = first.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        assert_eq!(words.next(), Some("HTTP/1.1"));
        let mut headers = Vec::new();
        for line in lines {
            let line = line.ok()?;
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        assert!(headers.iter().any(|(name, _)| name == "host"), "HTTP/1.1 wants a host");
        Some(Request { method, path, headers })
    }
}

pub(crate) fn ok(body: &str) -> String {
    with_headers(body, "")
}

pub(crate) fn with_headers(body: &str, headers: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

pub(crate) fn chunked(body: &str) -> String {
    let (first, rest) = body.split_at(body.len() / 2);
    format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n{:X}\r\n{rest}\r\n0\r\n\r\n",
        first.len(),
        rest.len()
    )
}

pub(crate) fn status(code: u16) -> String {
    format!("HTTP/1.1 {code} Whatever\r\nContent-Length: 5\r\n\r\nerror")
}

pub(crate) struct Server {
    name: &'static str,
    base: String,
    port: u16,
    stopping: Arc<AtomicBool>,
    seen: Arc<Mutex<Vec<Request>>>,
    thread: Option<JoinHandle<()>>,
    /// What a server that never accepts must hold on to.
    held: Option<(TcpListener, Vec<TcpStream>)>,
}

impl Server {
    pub(crate) fn start(respond: impl Fn(&Request) -> String + Send + 'static) -> Server {
        Server::serve("answering", move |stream, request, _| {
            // A client may have seen enough and closed.
            let _ = stream.write_all(respond(request).as_bytes());
        })
    }

    /// Accepts, reads, never answers.
    pub(crate) fn silent() -> Server {
        Server::serve("silent", |_, _, stopping| {
            while !stopping.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
        })
    }

    /// A byte now and then, each well before any per-read limit.
    pub(crate) fn trickling() -> Server {
        Server::serve("trickling", |stream, _, stopping| {
            for byte in ok(&"t".repeat(4096)).bytes() {
                if stopping.load(Ordering::Relaxed) || stream.write_all(&[byte]).is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        })
    }

    /// The token at once, then silence: the deadline covers all requests together.
    pub(crate) fn slow_after_the_token() -> Server {
        Server::serve("slow after the token", |stream, request, stopping| {
            if request.method == "PUT" {
                let _ = stream.write_all(ok("token").as_bytes());
                return;
            }
            while !stopping.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
        })
    }

    /// Every answer is good and comes late; each alone would be in time.
    pub(crate) fn late_by(delay: Duration) -> Server {
        Server::serve("late each time", move |stream, _, _| {
            std::thread::sleep(delay);
            let _ = stream.write_all(ok("m5.large").as_bytes());
        })
    }

    /// Its queue is full: connecting to it never ends.
    pub(crate) fn never_accepting() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // SAFETY: the descriptor is open; listening once more only changes the length of the queue.
        assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
        let mut waiting = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(100)) {
            waiting.push(stream);
            assert!(waiting.len() < 100, "the queue never fills");
        }
        Server {
            name: "never accepting",
            base: format!("http://{address}"),
            port: address.port(),
            stopping: Arc::default(),
            seen: Arc::default(),
            thread: None,
            held: Some((listener, waiting)),
        }
    }

    fn serve(
        name: &'static str,
        handle: impl Fn(&mut TcpStream, &Request, &AtomicBool) + Send + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let stopping = Arc::new(AtomicBool::new(false));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let thread = std::thread::spawn({
            let (stopping, seen) = (Arc::clone(&stopping), Arc::clone(&seen));
            move || {
                for stream in listener.incoming() {
                    let Ok(mut stream) = stream else { continue };
                    if stopping.load(Ordering::Relaxed) {
                        return;
                    }
                    if let Some(request) = Request::read(&stream) {
                        handle(&mut stream, &request, &stopping);
                        seen.lock().unwrap().push(request);
                    }
                }
            }
        });
        let base = format!("http://127.0.0.1:{port}");
        Server { name, base, port, stopping, seen, thread: Some(thread), held: None }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Ends the server and tells what it was asked.
    pub(crate) fn stop(self) -> Vec<Request> {
        self.stopping.store(true, Ordering::Relaxed);
        drop(self.held);
        if let Some(thread) = self.thread {
            // Wakes the accept.
            drop(TcpStream::connect(("127.0.0.1", self.port)));
            thread.join().expect("the server's own expectations hold");
        }
        Arc::try_unwrap(self.seen).expect("the thread is gone").into_inner().unwrap()
    }
}
