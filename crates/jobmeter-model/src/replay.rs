//! A summary from the record alone: for runs whose meter was killed before its last word, and for runs that
//! still go on.

use crate::accumulate::{Accumulator, Divisors};
use crate::event::{Event, STORE_TIME_NOTE, Sink};
use crate::job::StoreTime;
use crate::kinds::{VerdictKind, WarningKind};
use crate::metric::{Column, EntityKind, Scope};
use crate::summary::{Overhead, RunInfo, SCHEMA_VERSION, Summary, Verdict, Warning};
use serde::Deserialize;

/// Takes the stream of a record.
#[derive(Default)]
pub struct Replay {
    sums: Accumulator,
    /// By which server, and when.
    store_times: Vec<(String, StoreTime)>,
}

impl Sink for Replay {
    fn define(&mut self, column: &Column) {
        self.sums.define(column);
    }

    fn event(&mut self, event: &Event) {
        self.sums.event(event);
        if let Event::Note { key, value, .. } = event
            && key == STORE_TIME_NOTE
            && let Some(server) = value.get("server").and_then(serde_json::Value::as_str)
            && let Some(time) = value.get("time").and_then(|time| StoreTime::deserialize(time).ok())
        {
            self.store_times.push((server.to_owned(), time));
        }
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        self.sums.tick(t_ns, values);
    }
}

impl Replay {
    /// The summary of what the record holds. `info` is its header.
    pub fn summary(self, info: &RunInfo) -> Summary {
        let wall_ns = self.sums.last_t_ns;
        let mut figures = self.sums.figures(Divisors {
            expected_cores: if info.expected_cores > 0.0 { info.expected_cores } else { 1.0 },
            system_cores: info.system_cores.max(1),
            wall_ns,
        });
        let mut run = info.clone();
        run.wall_ns = Some(wall_ns);
        run.ticks = self.sums.ticks;
        if let Some(machine) = run.job.as_mut().and_then(|job| job.machine.as_mut()) {
            for (server, time) in self.store_times {
                machine.store_server = server;
                machine.store_times.push(time);
            }
        }
        let mut warnings = self.sums.warnings;
        warnings.push(Warning {
            kind: WarningKind::NoTrailer,
            text: "the record has no last word: figures end with its last tick".to_owned(),
        });
        let mut scope = |scope| figures.scopes.remove(&scope).unwrap_or_default();
        let (main, descendants, combined, system) =
            (scope(Scope::Main), scope(Scope::Descendants), scope(Scope::Combined), scope(Scope::System));
        let mut entity = |kind| figures.entities.remove(&kind).unwrap_or_default();
        Summary {
            schema_version: SCHEMA_VERSION,
            run,
            verdict: Verdict {
                kind: VerdictKind::Crashed,
                exit_code: None,
                signal: None,
                core_dumped: false,
                text: "unknown: still running, or jobmeter itself was killed".to_owned(),
                evidence: vec!["the record has no trailer".to_owned()],
            },
            main,
            descendants,
            combined,
            system,
            containers: Default::default(),
            cores: entity(EntityKind::Core),
            disks: entity(EntityKind::Disk),
            mounts: entity(EntityKind::Mount),
            networks: entity(EntityKind::Network),
            gpus: entity(EntityKind::Gpu),
            limits: Default::default(),
            sources: Vec::new(),
            warnings,
            overhead: Overhead::default(),
        }
    }
}
