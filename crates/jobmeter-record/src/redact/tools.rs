//! The part of the table for options and places that carry secrets in some well-known tools and mean other things
//! elsewhere.

/// What an option of a tool takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// `-P secret`, `-Psecret`; `--long secret`, `--long=secret`.
    Secret,
    /// `-psecret` only: `-p` alone asks, and what follows it is something else.
    Glued,
    /// `-p secret` only: glued it means something else.
    Next,
    /// `-u user:secret`, with the separator.
    Pair(char),
    /// `user:secret@host:port` without a scheme.
    Proxy,
    /// openssl's `pass:secret`.
    PassPrefix,
    /// Cookies: a secret if it has `=`, otherwise a file.
    Cookie,
    /// Not a secret, although the name of the option says so.
    Nothing,
}

#[derive(Debug)]
pub(super) struct OptionRule {
    pub(super) tools: &'static [&'static str],
    /// A word that must have come before, such as `login`; empty: none.
    pub(super) after: &'static str,
    pub(super) options: &'static [&'static str],
    pub(super) takes: Takes,
}

/// Arguments that are secret by their place: the `nth` (from 1) that is no option, counted after the word `after`.
#[derive(Debug)]
pub(super) struct PlaceRule {
    pub(super) tools: &'static [&'static str],
    pub(super) after: &'static str,
    pub(super) nth: &'static [usize],
}

const fn option(
    tools: &'static [&'static str],
    after: &'static str,
    options: &'static [&'static str],
    takes: Takes,
) -> OptionRule {
    OptionRule { tools, after, options, takes }
}

const fn place(tools: &'static [&'static str], after: &'static str, nth: &'static [usize]) -> PlaceRule {
    PlaceRule { tools, after, nth }
}

use Takes::{Cookie, Glued, Next, Nothing, Pair, PassPrefix, Proxy, Secret};

#[rustfmt::skip]
const MYSQL: &[&str] = &[
    "mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlcheck", "mysqlshow", "mysqlbinlog", "mysqlpump",
    "mysqlslap", "mysqlsh", "mariadb", "mariadb-dump", "mariadb-admin", "mariadb-import", "mariadb-check", "mydumper",
    "mycli", "xtrabackup", "mariabackup", "mytop",
];
#[rustfmt::skip]
const CONTAINERS: &[&str] = &[
    "docker", "podman", "nerdctl", "buildah", "skopeo", "crane", "oras", "helm", "oc", "az", "regctl", "singularity",
    "apptainer",
];
#[rustfmt::skip]
const LDAP: &[&str] = &[
    "ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldappasswd", "ldapwhoami", "ldapcompare", "ldapmodrdn",
];
const MONGO: &[&str] =
    &["mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport", "mongostat", "mongotop"];

pub(super) const OPTIONS: &[OptionRule] = &[
    option(MYSQL, "", &["-p"], Glued),
    option(&["sshpass"], "", &["-p"], Secret),
    option(&["curl"], "", &["-u", "--user", "-U", "--proxy-user"], Pair(':')),
    option(&["curl", "pip", "pip3", "git", "yt-dlp", "youtube-dl"], "", &["-x", "--proxy"], Proxy),
    option(&["curl"], "", &["-E", "--cert"], Pair(':')), // `cert.pem:secret`
    option(&["etcdctl"], "", &["--user"], Pair(':')),
    // The values of a Secret are secret whatever their names are.
    option(&["kubectl", "oc"], "secret", &["--from-literal"], Pair('=')),
    option(&["pulumi"], "", &["--secret"], Nothing), // the value has its place, see below
    option(&["curl"], "", &["-b", "--cookie"], Cookie),
    option(&["curl"], "", &["--pass", "--proxy-pass", "--tlspassword", "--oauth2-bearer"], Secret),
    option(&["http", "https", "xh", "xhs"], "", &["-a", "--auth"], Pair(':')),
    option(&["redis-cli", "keydb-cli", "valkey-cli", "redis-benchmark"], "", &["-a", "--pass"], Secret),
    option(
        &["smbclient", "rpcclient", "smbget", "net", "winexe", "wmic", "smbmap"],
        "",
        &["-U", "--user"],
        Pair('%'),
    ),
    option(LDAP, "", &["-w"], Secret),
    option(&["ldappasswd"], "", &["-s", "-a"], Secret),
    option(MONGO, "", &["-p"], Secret),
    option(&["sqlcmd", "bcp", "osql", "isql", "tsql", "bsqldb", "freebcp", "go-sqlcmd"], "", &["-P"], Secret),
    option(CONTAINERS, "login", &["-p"], Secret),
    option(&["az"], "login", &["--password"], Secret),
    option(&["az"], "create-for-rbac", &["-p"], Secret),
    option(&["docker", "podman", "nerdctl", "buildah", "docker-compose"], "", &["--secret"], Nothing), // names a secret
    option(&["gcloud"], "", &["--secret", "--secrets", "--set-secrets", "--update-secrets"], Nothing), // names a secret
    option(
        &["ansible", "ansible-playbook", "ansible-vault", "ansible-pull"],
        "",
        &["--private-key", "--key-file"],
        Nothing,
    ), // a file
    option(&["ssh-keygen"], "", &["-N", "-P"], Secret),
    option(&["openssl"], "", &["-passin", "-passout", "-pass"], PassPrefix),
    option(&["openssl"], "", &["-k", "-K", "-hmac", "-passwd", "-psk", "-srppass"], Next),
    option(&["zip", "unzip", "zipcloak"], "", &["-P"], Secret),
    option(&["7z", "7za", "7zr", "7zz", "p7zip", "rar", "unrar", "unar"], "", &["-p", "-hp"], Glued),
    option(&["unar", "lsar"], "", &["-p"], Secret),
    option(&["lftp"], "", &["-u", "--user"], Pair(',')),
    option(&["ncftp", "ncftpget", "ncftpput", "ncftpls"], "", &["-p"], Secret),
    option(&["plink", "pscp", "psftp", "putty"], "", &["-pw"], Next),
    option(&["xfreerdp", "xfreerdp3", "wlfreerdp", "sdl-freerdp"], "", &["/p", "/gp"], Pair(':')),
    option(&["rdesktop"], "", &["-p"], Secret),
    option(&["twine"], "", &["-p"], Secret),
    option(&["poetry"], "publish", &["-p"], Secret),
    option(
        &[
            "cqlsh",
            "cypher-shell",
            "beeline",
            "rabbitmqadmin",
            "nxc",
            "crackmapexec",
            "evil-winrm",
            "neo4j-admin",
            "isqlv",
            "kcadm.sh",
        ],
        "",
        &["-p"],
        Secret,
    ),
    option(&["rabbitmqadmin"], "", &["--password"], Secret),
    option(
        &["mosquitto_pub", "mosquitto_sub", "mosquitto_rr", "ipmitool", "impala-shell", "fbsql"],
        "",
        &["-P"],
        Secret,
    ),
    option(&["swaks"], "", &["-ap", "--auth-password"], Next),
    option(&["sendemail", "sendEmail"], "", &["-xp"], Next),
    option(&["snmpwalk", "snmpget", "snmpset", "snmpbulkwalk", "snmptrap"], "", &["-A", "-X", "-c"], Secret),
    option(&["ss-local", "sslocal", "ss-server", "ssserver", "ss-redir", "ss-tunnel"], "", &["-k"], Secret),
    option(&["gh"], "set", &["-b", "--body"], Secret),
    option(&["vncdo", "vncdotool"], "", &["-p"], Secret),
    option(&["isql-fb", "gbak", "gfix"], "", &["-pas", "-pass"], Next), // Firebird
    option(&["nsupdate", "dig"], "", &["-y"], Secret),                  // a TSIG key
    option(&["kubeadm"], "", &["--certificate-key", "--token"], Secret),
    option(&["scylla", "nodetool"], "", &["-pw"], Next),
    option(&["asadm", "aql"], "", &["-P"], Secret),
    option(&["useradd", "usermod"], "", &["-p"], Secret), // a hash that can be attacked
    option(&["taos"], "", &["-p"], Glued),
    option(&["dsconf", "dsctl", "dsidm"], "", &["-w"], Secret),
    option(&["ipa-client-install", "ipa-server-install"], "", &["-p", "-w", "-a"], Secret),
    option(&["jfrog", "jf"], "", &["--access-token", "--apikey"], Secret),
    option(&["oracle", "exp", "imp"], "", &["--password"], Secret),
];

pub(super) const PLACES: &[PlaceRule] = &[
    place(&["wandb", "cargo", "vault", "snyk", "infracost", "clearml-login"], "login", &[1]),
    place(&["snyk"], "auth", &[1]),
    place(&["ngrok"], "authtoken", &[1]),
    place(&["ngrok"], "add-authtoken", &[1]),
    place(&["mysqladmin", "mariadb-admin"], "password", &[1]),
    place(&["rabbitmqctl"], "add_user", &[2]),
    place(&["rabbitmqctl"], "change_password", &[2]),
    place(&["rabbitmqctl"], "authenticate_user", &[2]),
    place(&["mc", "mcli"], "set", &[3, 4]), // alias set NAME URL ACCESS SECRET
    place(&["mc"], "add", &[3, 4]),         // config host add, admin user add
    place(&["redis-cli", "valkey-cli"], "auth", &[1, 2]),
    place(&["redis-cli", "valkey-cli"], "AUTH", &[1, 2]),
    place(&["wpa_passphrase"], "wpa_passphrase", &[2]),
    place(&["rclone"], "obscure", &[1]),
    place(&["pulumi"], "--secret", &[2]),
    place(&["poetry"], "config", &[3]),     // http-basic.NAME USER SECRET
    place(&["htpasswd"], "htpasswd", &[3]), // with -b: FILE USER SECRET
    place(&["htpasswd"], "-nb", &[2]),      // USER SECRET
    place(&["htpasswd"], "-nbB", &[2]),
    place(&["htpasswd"], "-bnB", &[2]),
];

/// Oracle's tools take `user/secret@database` as an argument.
pub(super) const ORACLE: &[&str] =
    &["sqlplus", "sqlldr", "expdp", "impdp", "exp", "imp", "rman", "sqlcl", "tnsping"];

/// curl's options of one letter that take nothing, so that they can stand before another: `-sSu`.
pub(super) const CURL_FLAGS: &[u8] = b"sSkLvfiIgNOJjqRaB#0123469lnpZMG";

/// Programs that run another one, so that a tool may come later in their arguments.
#[rustfmt::skip]
pub(super) const WRAPPERS: &[&str] = &[
    "sudo", "doas", "env", "time", "nohup", "exec", "xargs", "timeout", "srun", "mpirun", "mpiexec", "ssh", "docker",
    "podman", "nerdctl", "kubectl", "oc", "nice", "ionice", "strace", "ltrace", "stdbuf", "setsid", "flock", "watch",
    "parallel", "su", "chroot", "unshare", "nsenter", "singularity", "apptainer", "jobmeter", "systemd-run", "sbatch",
    "qsub", "bsub", "lxc", "conda", "mamba", "micromamba", "poetry", "pdm", "uv", "uvx", "pipx", "npx", "python",
    "python3", "caffeinate", "eatmydata", "proxychains", "proxychains4", "torsocks", "perf", "valgrind",
    "docker-compose", "run", "then", "do", "else", "if", "while", "until", "!", "{", "command", "builtin", "numactl",
    "taskset", "chrt", "catchsegv", "gosu", "tini", "dumb-init", "script", "expect", "unbuffer", "sshpass", "vagrant",
    "fly", "heroku", "gcloud", "aws-vault", "op", "doppler", "dotenv", "direnv", "nix-shell", "bundle", "pnpm",
    "yarn", "npm", "runuser", "setpriv", "capsh", "prlimit", "cgexec", "firejail", "bwrap", "hyperfine", "rlwrap",
    "busybox", "entr", "at", "batch", "docker.io", "nomad", "multipass", "limactl", "wsl", "cmd", "cmd.exe", "start",
    "reptyr", "retry", "ts", "jm",
];

/// Words after which a name of a secret is followed by its value: `aws configure set aws_secret_access_key x`.
#[rustfmt::skip]
pub(super) const SETTERS: &[&str] = &[
    "set", "put", "modify", "setenv", "connect", "configure", "set-secret", "config:set", "--set", "-x", "-gx", "-Ux",
    "mod", "add-generic-password",
];

/// Words of a command that reads a secret from its standard input: what `echo` sends there is one.
#[rustfmt::skip]
pub(super) const SECRET_READERS: &[&str] = &[
    "--password-stdin", "--pass-stdin", "--with-token", "--passphrase-fd", "--token-stdin", "chpasswd", "smbpasswd",
    "kinit", "cryptsetup", "pass:stdin", "vncpasswd", "--stdin-pass",
];

/// Options that mean the same for some tools only: `sudo -S`, `passwd --stdin`.
pub(super) const SECRET_READING_OPTIONS: &[(&str, &str)] = &[
    ("sudo", "-S"),
    ("passwd", "--stdin"),
    ("openssl", "stdin"),
    ("su", "-c"),
    ("ansible-vault", "--stdin-name"),
];
