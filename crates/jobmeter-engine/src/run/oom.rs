//! Whether the kernel's OOM killer ended the job, and at which limit. With v2 a group counts the kills of all groups below it;
//! with v1 only its own, so that of the main process is asked too.

use crate::linux::cgroup::{JobGroup, Membership};
use crate::linux::control::Pid;
use jobmeter_model::verdict::ReachedLimit;
use std::path::Path;

/// A group that counts kills, and how many there were when the job began.
struct Counted {
    groups: Membership,
    before: u64,
}

/// What the OOM killer did while the job ran.
pub(crate) struct OomWatch {
    /// The group that was made for the job counts memory: its counter started at 0.
    counts_own_group: bool,
    counted: Vec<Counted>,
}

/// What is known of it at the end.
#[derive(Default)]
pub(crate) struct OomFindings {
    /// Kills in a group of the job; 0 where there was none on the whole machine; `None` where they may be others'.
    pub kills: Option<u64>,
    pub machine_kills: Option<u64>,
    pub reached_limit: Option<ReachedLimit>,
}

impl OomWatch {
    pub(crate) fn new(group: Option<&JobGroup>) -> OomWatch {
        OomWatch { counts_own_group: group.is_some_and(JobGroup::counts_memory), counted: Vec::new() }
    }

    /// Some time after the start: notes how often the killer struck before in the group that we are in, and in that of the
    /// main process where it has been moved to another one.
    pub(crate) fn begin(&mut self, own: &Membership, main: Pid) {
        let elsewhere = own.read_elsewhere(Path::new("/"), &main.get().to_string());
        let mut note = |groups: Membership| {
            if let Some(before) = groups.oom_kills() {
                self.counted.push(Counted { groups, before });
            }
        };
        elsewhere.into_iter().for_each(&mut note);
        if !self.counts_own_group {
            note(own.clone());
        }
    }

    /// `machine_kills` is how often the killer struck on the machine since the job began.
    pub(crate) fn findings(
        &self,
        group: Option<&JobGroup>,
        own: &Membership,
        machine_kills: Option<u64>,
    ) -> OomFindings {
        let since = |counted: &Counted| {
            counted
                .groups
                .oom_kills()
                .map(|now| now.saturating_sub(counted.before))
                .filter(|kills| *kills > 0)
        };
        let own_group = group.and_then(JobGroup::oom_kills).filter(|kills| *kills > 0);
        if let Some(kills) = own_group {
            return OomFindings { kills: Some(kills), machine_kills, reached_limit: own.reached_limit() };
        }
        let struck = self.counted.iter().find_map(|counted| Some((since(counted)?, counted)));
        match struck {
            Some((kills, counted)) => OomFindings {
                kills: Some(kills),
                machine_kills,
                reached_limit: counted.groups.reached_limit(),
            },
            None => OomFindings {
                kills: machine_kills.filter(|kills| *kills == 0),
                machine_kills,
                reached_limit: None,
            },
        }
    }
}
