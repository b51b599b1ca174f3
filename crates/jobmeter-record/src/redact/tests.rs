use super::*;
use proptest::prelude::*;

fn line(command: &[&str]) -> String {
    argv(command).join(" ")
}

#[test]
fn secrets_are_removed() {
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl";
    let bearer = format!("Authorization: Bearer {jwt}");
    let hub = format!("ghp_{}", "a1B2".repeat(9));
    let model = format!("sk-proj-{}", "a1B2".repeat(10));
    let cases: Vec<(Vec<&str>, &str)> = vec![
        (vec!["app", "--password", "hunter2", "-v"], "app --password [redacted] -v"),
        (vec!["app", "--password=hunter2"], "app --password=[redacted]"),
        (vec!["app", "--db-passwd", "-hunter2"], "app --db-passwd [redacted]"),
        (vec!["app", "--apiKey", "zzz", "--hf_token=abc"], "app --apiKey [redacted] --hf_token=[redacted]"),
        (vec!["app", "--client-secret", "zzz"], "app --client-secret [redacted]"),
        (vec!["keytool", "-storepass", "changeit"], "keytool -storepass [redacted]"),
        (
            vec!["env", "TOKEN=abc", "AWS_SECRET_ACCESS_KEY=x/y+z", "make"],
            "env TOKEN=[redacted] AWS_SECRET_ACCESS_KEY=[redacted] make",
        ),
        (
            vec!["env", "MYSQL_PWD=a", "PGPASSWORD=b", "STRIPE_KEY=c", "DJANGO_SECRET=d"],
            "env MYSQL_PWD=[redacted] PGPASSWORD=[redacted] STRIPE_KEY=[redacted] DJANGO_SECRET=[redacted]",
        ),
        (vec!["psql", "host=db password=s3cret dbname=x"], "psql host=db password=[redacted] dbname=x"),
        (vec!["mysql", "-u", "root", "-psecret", "db"], "mysql -u root -p[redacted] db"),
        (vec!["/usr/bin/sshpass", "-p", "x y", "ssh", "host"], "/usr/bin/sshpass -p [redacted] ssh host"),
        (vec!["curl", "-u", "me:pw", "http://x/"], "curl -u me:[redacted] http://x/"),
        (vec!["curl", "-ume:pw", "--user=me:pw"], "curl -ume:[redacted] --user=me:[redacted]"),
        (vec!["curl", "-H", &bearer, "http://x/"], "curl -H Authorization: [redacted] http://x/"),
        (vec!["curl", "-H", "X-Api-Key:abcd"], "curl -H X-Api-Key:[redacted]"),
        (vec!["redis-cli", "-a", "pw", "get", "k"], "redis-cli -a [redacted] get k"),
        (vec!["git", "clone", "https://me:pw@host/r.git"], "git clone https://me:[redacted]@host/r.git"),
        (vec!["git", "clone", "https://abc123@host/r.git"], "git clone https://[redacted]@host/r.git"),
        (
            vec!["x", "DATABASE_URL=postgres://u:p@ss@db:5432/n"],
            "x DATABASE_URL=postgres://u:[redacted]@db:5432/n",
        ),
        (
            vec!["x", "a=http://u:p,w@h,b=amqp://v:q;r@k/http://w:s@l"],
            "x a=http://u:[redacted]@h,b=amqp://v:[redacted]@k/http://w:[redacted]@l",
        ),
        (vec!["wget", "http://h/f?id=3&token=abc&x=1"], "wget http://h/f?id=3&token=[redacted]&x=1"),
        (vec!["wget", "http://h/f?sig=a%2Fb#frag"], "wget http://h/f?sig=[redacted]#frag"),
        (vec!["x", "AKIAIOSFODNN7EXAMPLE"], "x [redacted]"),
        (vec!["x", &hub, &model, jwt], "x [redacted] [redacted] [redacted]"),
        (vec!["x", "--slack=xoxb-1234567890-abc"], "x --slack=[redacted]"),
        (
            vec!["sh", "-c", "PASSWORD='a b' run --token abc --n 3"],
            "sh -c PASSWORD=[redacted] run --token [redacted] --n 3",
        ),
        (
            vec!["sh", "-c", "curl -H 'Authorization: Basic dXNlcjpwYXNz' http://h | jq ."],
            "sh -c curl -H 'Authorization: [redacted] ' http://h | jq .",
        ),
        (vec!["sh", "-c", "echo k | mysql -psecret"], "sh -c echo k | mysql -p[redacted]"),
        (
            vec!["x", "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\n"],
            "x [redacted]\n",
        ),
        (vec!["x", "k=-----BEGIN PRIVATE KEY-----MII"], "x k=[redacted]"),
    ];
    for (command, expected) in cases {
        let shown = line(&command).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(shown, expected.trim(), "{command:?}");
    }
}

/// What people run all day must stay readable.
#[test]
fn ordinary_commands_stay_as_they_are() {
    let commands = [
        "python train.py --lr 3e-4 --max-tokens 512 --tokenizer bert-base --pad-token <pad> --seed 1",
        "python -m torch.distributed.run --nproc-per-node 8 train.py --token-file /run/t --key 3",
        "sort --key=2,2 --parallel=4 -t: /etc/passwd",
        "grep -rn password src --include=*.py -e token -e secret",
        "make -j8 CC=gcc CFLAGS=-O2 PREFIX=/usr PWD=/home/me DESTDIR=/tmp/x",
        "ssh -p 2222 git@host.example -i /home/me/.ssh/id_rsa",
        "git clone ssh://git@host.example:22/me/repo.git",
        "git push origin task-20261115abcdef0123456789abcdef",
        "docker run --rm -p 8080:80 -v /a:/b --user 1000:1000 image:tag",
        "mkdir -p a/b/c",
        "curl -sSL http://localhost:8080/path?page=2&sort=key -o out",
        "ffmpeg -i in.mp4 -pix_fmt yuv420p -pass 1 -passlogfile log out.mp4",
        "psql -h db -p 5432 -U me -c select",
        "rsync -avP --password-file=/etc/rsync.pw src/ host::mod",
        "samtools sort -@ 8 -m 4G -T tmp/x -o out.bam in.bam",
        "Rscript fit.R --formula y~x+key --keys a,b,c",
        "snakemake --cores 8 --config partition_key=user sort_key=id primary.key=id",
        "pytest -k token -q --no-auth --ask-pass",
        "sk-learn-experiment-v2-with-a-long-name --monkey=banana --hockey puck",
        "echo eyJ AKIA ghp_ xoxb- sk- hf_model_name",
        "bash -c 'for i in 1 2 3; do echo $i: $PASSWORD; done'",
        "java -Xmx4g -Dkey=value -jar app.jar --passes 3 --compass north",
    ];
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        assert_eq!(line(&words), command);
        assert_eq!(text(command), command);
    }
}

#[test]
fn variables_by_name_and_by_content() {
    assert_eq!(variable("API_TOKEN", "x"), REDACTED);
    assert_eq!(variable("PATH", "/usr/bin:/bin"), "/usr/bin:/bin");
    assert_eq!(variable("PWD", "/home/me"), "/home/me");
    assert_eq!(variable("SSH_AUTH_SOCK", "/run/x"), "/run/x");
    assert_eq!(variable("PROXY", "http://u:p@h:1"), "http://u:[redacted]@h:1");
}

proptest! {
    #[test]
    fn any_text_is_taken(words in prop::collection::vec(any::<String>(), 0..8)) {
        argv(&words);
        for word in &words {
            text(word);
        }
    }

    #[test]
    fn a_secret_never_survives_its_option(secret in "[a-zA-Z0-9!#%+/:@._]{6,30}", lead in "[a-z ./=-]{0,20}") {
        prop_assume!(!lead.contains(&secret));
        for command in [
            vec!["x", "--password", &secret],
            vec!["x", &lead, "--api-token", &secret],
            vec!["mysql", "--password", &secret],
        ] {
            prop_assert!(!line(&command).contains(&secret), "{:?}", command);
        }
        let glued = format!("--password={secret}");
        prop_assert!(!line(&["x", &glued]).contains(&secret));
    }

    #[test]
    fn redacting_twice_changes_nothing_more(words in prop::collection::vec("[ -~]{0,40}", 0..6)) {
        let once = argv(&words);
        prop_assert_eq!(argv(&once), once.clone());
    }
}
