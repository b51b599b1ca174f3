//! A Slurm of two nodes on this machine, for one test: its own munge, controller and two `slurmd`, each with a host name
//! of its own, all on the loopback network. They end with the test, each by its own handle.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Slurm {
    folder: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // The controller last: the nodes tell it that they go.
        for daemon in self.daemons.iter_mut().rev() {
            let _ended = daemon.kill();
            let _reaped = daemon.wait();
        }
    }
}

impl Slurm {
    /// The reason where there can be none here.
    pub(crate) fn start() -> Result<Slurm, String> {
        for program in ["munged", "slurmctld", "slurmd", "srun"] {
            let found = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"]
                .iter()
                .any(|folder| Path::new(folder).join(program).exists());
            if !found {
                return Err(format!("no {program} here (Debian: slurm-wlm and munge)"));
            }
        }
        // SAFETY: geteuid has no arguments and cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            return Err("slurmd starts jobs as root only".to_owned());
        }
        let folder = tempfile::tempdir().expect("a folder for Slurm");
        let mut slurm = Slurm { folder, daemons: Vec::new() };
        slurm.write_settings();
        let at = |name: &str| slurm.path(name);
        let munge = [
            "--foreground".to_owned(),
            "--force".to_owned(),
            format!("--key-file={}", at("munge.key")),
            format!("--socket={}", at("munge.sock")),
            format!("--pid-file={}", at("munge.pid")),
            format!("--log-file={}", at("munge.log")),
            format!("--seed-file={}", at("munge.seed")),
        ];
        slurm.spawn(Command::new("munged").args(munge))?;
        let socket = slurm.path("munge.sock");
        slurm.wait_for("munge", &mut || Path::new(&socket).exists())?;
        slurm.spawn(Command::new("slurmctld").arg("-D"))?;
        for node in ["n1", "n2"] {
            let script = format!("hostname {node} && exec slurmd -D -N {node}");
            slurm.spawn(Command::new("unshare").args(["--uts", "sh", "-c", &script]))?;
        }
        let settings = slurm.path("slurm.conf");
        slurm.wait_for("two idle nodes", &mut || {
            let listed =
                Command::new("sinfo").args(["-h", "-N", "-o", "%T"]).env("SLURM_CONF", &settings).output();
            listed.is_ok_and(|listed| String::from_utf8_lossy(&listed.stdout).matches("idle").count() == 2)
        })?;
        Ok(slurm)
    }

    /// `srun OPTIONS…`, for the caller to add a command to.
    pub(crate) fn srun(&self, options: &[&str]) -> Command {
        let mut srun = Command::new("srun");
        srun.args(options).env("SLURM_CONF", self.path("slurm.conf")).stdin(Stdio::null());
        srun
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("a UTF-8 path").to_owned()
    }

    fn write_settings(&self) {
        use std::os::unix::fs::PermissionsExt;
        // Below the ports that the kernel gives to whoever connects.
        let port = 20_000 + std::process::id() % 12_000 / 4 * 4;
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a host name");
        let (host, at) = (host.trim(), self.folder.path().display());
        let settings = format!(
            "ClusterName=loopback\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={port}\n\
             AuthType=auth/munge\nAuthInfo=socket={at}/munge.sock\nCredType=cred/munge\n\
             SlurmUser=root\nSlurmdUser=root\nStateSaveLocation={at}/state\nSlurmdSpoolDir={at}/%n\n\
             SlurmctldPidFile={at}/ctld.pid\nSlurmdPidFile={at}/%n.pid\n\
             SlurmctldLogFile={at}/ctld.log\nSlurmdLogFile={at}/%n.log\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\nReturnToService=2\nMpiDefault=none\nSwitchType=switch/none\n\
             SlurmdParameters=config_overrides\n\
             NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{}-{}] CPUs=4 RealMemory=100 \
             State=UNKNOWN\nPartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            port + 1,
            port + 2,
        );
        for folder in ["state", "n1", "n2"] {
            std::fs::create_dir(self.path(folder)).expect("a folder");
        }
        std::fs::write(self.path("slurm.conf"), settings).expect("the settings");
        let mut key = vec![0_u8; 128];
        let random = std::fs::File::open("/dev/urandom").expect("random bytes");
        std::io::Read::read_exact(&mut { random }, &mut key).expect("random bytes");
        std::fs::write(self.path("munge.key"), key).expect("the key");
        let only_ours = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(self.path("munge.key"), only_ours).expect("a private key");
    }

    fn spawn(&mut self, command: &mut Command) -> Result<(), String> {
        command.env("SLURM_CONF", self.path("slurm.conf"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("cannot start a daemon of Slurm: {error}"))?;
        self.daemons.push(child);
        Ok(())
    }

    fn wait_for(&mut self, what: &str, is_there: &mut dyn FnMut() -> bool) -> Result<(), String> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if is_there() {
                return Ok(());
            }
            if self.daemons.iter_mut().any(|daemon| daemon.try_wait().is_ok_and(|status| status.is_some())) {
                return Err(format!("a daemon of Slurm ended before there were {what}"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Err(format!("Slurm did not get to {what} within {} s", PATIENCE.as_secs()))
    }
}
