use super::*;
use proptest::prelude::*;

fn line(command: &[&str]) -> String {
    argv(command).join(" ")
}

/// Where the secret ends is as important as where it begins.
#[test]
fn only_the_secret_is_replaced() {
    let cases: &[(&[&str], &str)] = &[
        (&["sh", "-c", "run --token abc99x; echo done"], "sh -c run --token [redacted]; echo done"),
        (&["sh", "-c", "A_TOKEN=abc99x run | cat"], "sh -c A_TOKEN=[redacted] run | cat"),
        (&["sh", "-c", "PASSWORD='a b' run"], "sh -c PASSWORD='[redacted]' run"),
        (&["x", "--set", "a=b,rootPassword=p9,c=d"], "x --set a=b,rootPassword=[redacted],c=d"),
        (&["x", "Authorization:Bearer abc def"], "x Authorization:Bearer [redacted]"),
        (&["x", "PASSWORD=two words"], "x PASSWORD=[redacted]"),
        (&["x", "--password", "--Hunter2"], "x --password [redacted]"),
        (&["x", "--password", "--verbose"], "x --password --verbose"),
        (&["x", "--password", "$ecret1"], "x --password [redacted]"),
        (&["x", "--password", "$SECRET"], "x --password $SECRET"),
        (&["x", "postgres://u:a/b?c@h/n"], "x postgres://u:[redacted]@h/n"),
    ];
    for (command, expected) in cases {
        assert_eq!(line(command), *expected);
    }
}

#[test]
fn everything_that_a_user_names_is_looked_at() {
    let mut info = RunInfo {
        command: vec!["x".into(), "--token=abc99x".into()],
        name: Some("try https://me:hunter2@host/".into()),
        tags: [("api_token".to_owned(), "abc99x".to_owned()), ("stage".to_owned(), "eval".to_owned())].into(),
        cwd: "/srv/ghp_FAKEfakeFAKEfakeFAKEfakeFAKEfake00".into(),
        ..RunInfo::default()
    };
    run_info(&mut info);
    assert_eq!(info.command, ["x", "--token=[redacted]"]);
    assert_eq!(info.name.as_deref(), Some("try https://me:[redacted]@host/"));
    assert_eq!(info.tags["api_token"], REDACTED);
    assert_eq!(info.tags["stage"], "eval");
    assert_eq!(info.cwd, "/srv/[redacted]");
}

#[test]
fn a_variable_does_not_begin_with_a_digit() {
    assert_eq!(argv(&["x", "--password", "%APP_KEY%"])[2], "%APP_KEY%");
    assert_eq!(argv(&["x", "--password", "%0AA0%"])[2], REDACTED);
}

#[test]
fn variables_by_name_and_by_content() {
    assert_eq!(variable("API_TOKEN", "x"), REDACTED);
    assert_eq!(variable("HTTP_AUTH", "me:hunter2"), "me:[redacted]");
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
        // `%NAME%` names a variable.
        prop_assume!(!(secret.starts_with('%') && secret.ends_with('%')));
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
