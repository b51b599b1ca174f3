//! Run files that nobody's meter wrote: each is whole, has right checksums, and asks its reader for more work or
//! memory than its bytes are worth.

use jobmeter_model::RunInfo;
use jobmeter_record::{SharedBuffer, Target, Writer};

const DEFINE: u8 = 2;
const TICK: u8 = 3;
const EVENT: u8 = 4;
const COLUMNS: u8 = 5;
const SUMMARY: u8 = 6;
const DIGEST: u8 = 7;
const FOOTER: u8 = 8;

const PROCESS_START: u8 = 1;
const RENAME: u8 = 2;
const MARK: u8 = 4;
const WARNING: u8 = 5;
const SETTLE: u8 = 6;
const NOTE: u8 = 7;

const POINT: u8 = 0;
const BEGIN: u8 = 1;
const END: u8 = 2;

/// A file of about `size` bytes.
type Make = fn(usize) -> Vec<u8>;

pub(crate) const CASES: [(&str, Make); 28] = [
    ("columns", |size| File::new(size).columns(usize::MAX, "core", "core_busy_ns").ticks(0)),
    ("columns-and-ticks", |size| File::new(size).columns(size / 80, "core", "core_busy_ns").moving_ticks()),
    ("some-columns-many-ticks", |size| File::new(size).columns(500, "core", "core_busy_ns").moving_ticks()),
    ("mounts", |size| File::new(size).columns(size / 200, "mount", "mount_used_bytes").moving_ticks()),
    ("scope-columns", |size| File::new(size).scope_columns().moving_ticks()),
    ("duplicate-columns", |size| File::new(size).same_columns().moving_ticks()),
    ("empty-ticks", |size| File::new(size).ticks(1)),
    ("unknown-columns", |size| File::new(size).unknown_columns().moving_ticks()),
    ("long-entity-name", |size| {
        File::new(size).column("system", "core_busy_ns", Some(("core", &"n".repeat(size / 3)))).moving_ticks()
    }),
    ("open-phases", |size| File::new(size).repeat(|at| mark(BEGIN, at, 1, &format!("p{at}"))).end()),
    ("open-phases-one-name", |size| File::new(size).repeat(|at| mark(BEGIN, at, 1, "p")).end()),
    ("open-phases-then-ticks", |size| {
        let mut file = File::new(size);
        file.fill(size / 3, |at| mark(BEGIN, at, 1, "p"));
        file.ticks(1)
    }),
    ("phases-that-end-in-the-far-future", |size| {
        let mut file = File::new(size);
        file.fill(size / 3, |at| mark(if at % 2 == 0 { BEGIN } else { END }, u64::MAX - 1, 1, "p"));
        file.ticks(1)
    }),
    ("phases-closed-oldest-first", |size| {
        let mut file = File::new(size);
        file.tick(1);
        file.fill(size / 2, |at| mark(BEGIN, at, at as i32, "p"));
        file.repeat(|at| mark(END, at, at as i32, "p")).end()
    }),
    ("phase-names", |size| {
        let mut file = File::new(size);
        file.tick(1);
        file.repeat(|at| mark(if at % 2 == 0 { BEGIN } else { END }, at, 1, &format!("p{}", at / 2))).end()
    }),
    ("marks", |size| File::new(size).repeat(|at| mark(POINT, at, 1, "p")).end()),
    ("long-mark-names", |size| {
        let name = "\u{1}".repeat(size / 40);
        File::new(size).repeat(|at| mark(POINT, at, 1, &name)).end()
    }),
    ("processes", |size| File::new(size).repeat(|at| process(at, at as i32, 1)).end()),
    ("process-chain", |size| File::new(size).repeat(|at| process(at, at as i32 + 1, at as i32)).end()),
    ("cyclic-parents", |size| File::new(size).repeat(|at| process(at, at as i32, at as i32 ^ 1)).end()),
    ("renames", |size| {
        File::new(size)
            .repeat(|at| {
                event(RENAME, at, |out| {
                    int(out, 7);
                    varint(out, 1);
                    text(out, &format!("{at}"));
                })
            })
            .end()
    }),
    ("warnings", |size| {
        File::new(size)
            .repeat(|at| {
                event(WARNING, at, |out| {
                    text(out, "k");
                    text(out, "t");
                })
            })
            .end()
    }),
    ("notes", |size| {
        let json = format!("[{}[0]]", "[0],".repeat(size / 8));
        File::new(size)
            .repeat(|at| {
                event(NOTE, at, |out| {
                    text(out, "k");
                    text(out, &json);
                })
            })
            .end()
    }),
    ("settles", |size| {
        File::new(size)
            .scope_columns()
            .repeat(|at| {
                event(SETTLE, at, |out| {
                    varint(out, 300);
                    (0..300).for_each(|column| {
                        varint(out, column);
                        varint(out, at);
                    });
                })
            })
            .end()
    }),
    ("jumping-time", |size| {
        let mut file = File::new(size).scope_columns();
        file.tick(1);
        let bitmap = vec![0; file.columns.div_ceil(64)];
        file.repeat(|at| {
            let mut payload = Vec::new();
            zigzag(&mut payload, if at % 2 == 0 { i64::MAX } else { i64::MIN + 7 });
            payload.extend(&bitmap);
            (TICK, payload)
        })
        .end()
    }),
    ("summary-of-warnings", |size| {
        File::new(size).trailer(&"{\"kind\":\"\",\"text\":\"\"},".repeat(size / 22), "")
    }),
    ("summary-command", |size| File::new(size).trailer("", &"\"\",".repeat(size / 3))),
    ("header-command", |size| {
        File::with_info(size, RunInfo { command: vec![String::new(); size / 3], ..info() }).end()
    }),
];

fn info() -> RunInfo {
    RunInfo {
        id: "20261115T220212-1f3a9c".to_owned(),
        mode: "run".into(),
        command: vec!["true".to_owned()],
        pid: 1,
        started_unix_ns: 1_763_244_132_000_000_000,
        expected_cores: 2.0,
        system_cores: 2,
        ..RunInfo::default()
    }
}

struct File {
    bytes: Vec<u8>,
    size: usize,
    columns: usize,
}

impl File {
    fn new(size: usize) -> File {
        File::with_info(size, info())
    }

    fn with_info(size: usize, info: RunInfo) -> File {
        let buffer = SharedBuffer::default();
        let mut writer = Writer::create(Target::Memory(buffer.clone()), &info).expect("a writer");
        writer.flush();
        File { bytes: buffer.snapshot(), size, columns: 0 }
    }

    fn put(&mut self, kind: u8, payload: &[u8]) {
        let body = [&[kind], payload].concat();
        varint(&mut self.bytes, body.len() as u64);
        self.bytes.extend_from_slice(&body);
        self.bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    }

    fn column(mut self, scope: &str, metric: &str, entity: Option<(&str, &str)>) -> File {
        let mut payload = Vec::new();
        varint(&mut payload, 1);
        text(&mut payload, scope);
        text(&mut payload, metric);
        if let Some((kind, name)) = entity {
            text(&mut payload, kind);
            text(&mut payload, name);
        }
        self.put(DEFINE, &payload);
        self.columns += 1;
        self
    }

    fn columns(mut self, count: usize, kind: &str, metric: &str) -> File {
        for index in 0..count {
            if self.bytes.len() + 40 > self.size {
                break;
            }
            self = self.column("system", metric, Some((kind, &format!("{index}"))));
        }
        self
    }

    fn scope_columns(mut self) -> File {
        for scope in ["main", "descendants", "combined", "system"] {
            for row in jobmeter_model::metric::TABLE {
                self = self.column(scope, row.metric.key(), None);
            }
        }
        self
    }

    fn same_columns(mut self) -> File {
        for _ in 0..2_000 {
            self = self.column("combined", "rss_bytes", None);
        }
        self
    }

    fn unknown_columns(mut self) -> File {
        for _ in 0..5_000 {
            self = self.column("galaxy", "stars", None);
        }
        self
    }

    fn tick(&mut self, step: i64) {
        let mut payload = Vec::new();
        zigzag(&mut payload, step);
        payload.resize(payload.len() + self.columns.div_ceil(64), 0);
        self.put(TICK, &payload);
    }

    /// Ticks without any value until the file is full.
    fn ticks(mut self, step: i64) -> Vec<u8> {
        self.tick(1_000);
        while self.bytes.len() + 20 < self.size {
            self.tick(step);
        }
        self.end()
    }

    /// Two ticks that set every column moving, then ticks in which all of them go on as foreseen.
    fn moving_ticks(mut self) -> Vec<u8> {
        for step in [100_000_000, 0, 0] {
            let mut payload = Vec::new();
            zigzag(&mut payload, step);
            let groups = self.columns.div_ceil(8);
            let bits = |count: usize| (0..count.div_ceil(8)).map(move |at| low_bits(count - 8 * at));
            payload.extend(bits(groups));
            payload.extend(bits(self.columns));
            payload.extend(std::iter::repeat_n(2 + 2 * 3, self.columns));
            self.put(TICK, &payload);
        }
        self.ticks(0)
    }

    fn fill(&mut self, until: usize, make: impl Fn(u64) -> (u8, Vec<u8>)) {
        for at in 0.. {
            let (kind, payload) = make(at);
            if self.bytes.len() + payload.len() + 16 > until {
                break;
            }
            self.put(kind, &payload);
        }
    }

    fn repeat(mut self, make: impl Fn(u64) -> (u8, Vec<u8>)) -> File {
        self.fill(self.size, make);
        self
    }

    fn end(self) -> Vec<u8> {
        self.bytes
    }

    /// A finished run whose summary is the plainest with these warnings and this command in it.
    fn trailer(mut self, warnings: &str, command: &str) -> Vec<u8> {
        self.tick(1);
        let trailer_at = self.bytes.len() as u64;
        let json = format!(
            r#"{{"schema_version":1,"run":{{"id":"x","jobmeter_version":"","mode":"run","command":[{}],"pid":1,
            "started_unix_ns":1,"interval_ns":null,"expected_cores":1.0,"system_cores":1}},
            "verdict":{{"kind":"ok","text":""}},"main":{{}},"descendants":{{}},"combined":{{}},"system":{{}},
            "warnings":[{}],"overhead":{{"cpu_ns":0,"peak_rss_bytes":null}}}}"#,
            command.trim_end_matches(','),
            warnings.trim_end_matches(',')
        );
        self.put(COLUMNS, &[]);
        self.put(SUMMARY, json.as_bytes());
        let digest_at = self.bytes.len() as u64;
        self.put(DIGEST, b"{}");
        self.put(FOOTER, &[trailer_at.to_le_bytes(), digest_at.to_le_bytes()].concat());
        self.bytes
    }
}

fn low_bits(count: usize) -> u8 {
    if count >= 8 { 0xff } else { (1 << count) - 1 }
}

fn mark(kind: u8, t_ns: u64, tid: i32, name: &str) -> (u8, Vec<u8>) {
    event(MARK, t_ns, |out| {
        out.push(kind);
        int(out, 1);
        int(out, tid);
        text(out, name);
    })
}

fn process(t_ns: u64, pid: i32, parent_pid: i32) -> (u8, Vec<u8>) {
    event(PROCESS_START, t_ns, |out| {
        int(out, pid);
        varint(out, 1);
        int(out, parent_pid);
        text(out, "p");
    })
}

fn event(tag: u8, t_ns: u64, fill: impl FnOnce(&mut Vec<u8>)) -> (u8, Vec<u8>) {
    let mut payload = vec![tag];
    varint(&mut payload, t_ns);
    fill(&mut payload);
    (EVENT, payload)
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn zigzag(out: &mut Vec<u8>, value: i64) {
    varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

fn int(out: &mut Vec<u8>, value: i32) {
    zigzag(out, i64::from(value));
}

fn text(out: &mut Vec<u8>, value: &str) {
    varint(out, value.len() as u64);
    out.extend_from_slice(value.as_bytes());
}
