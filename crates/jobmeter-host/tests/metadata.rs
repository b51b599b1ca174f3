//! Each cloud's metadata conversation against a loopback server that speaks the vendor's protocol, and
//! against servers that are slow, refuse, redirect or talk nonsense. Nothing but 127.0.0.1 is ever contacted.

mod loopback;

use jobmeter_host::{CloudInfo, CloudSource, MetadataConfig, Vendor, cloud_info_compat, discover};
use loopback::{Request, Server, ok};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

const AWS_DMI: &[(&str, &str)] = &[("sys_vendor", "Amazon EC2"), ("product_name", "HVM domU")];
const OPENSTACK_DMI: &[(&str, &str)] =
    &[("sys_vendor", "OpenStack Foundation"), ("product_name", "OpenStack Nova")];

/// A root whose firmware says this.
fn machine(dmi: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let id = folder.path().join("sys/class/dmi/id");
    std::fs::create_dir_all(&id).unwrap();
    for (name, text) in dmi {
        std::fs::write(id.join(name), format!("{text}\n")).unwrap();
    }
    folder
}

fn config(base: &str) -> MetadataConfig {
    assert!(base.starts_with("http://127.0.0.1:"), "tests talk to loopback only");
    // Long enough for a busy test machine; the bound itself is tested below.
    MetadataConfig { base: Some(base.to_owned()), timeout: Duration::from_secs(20) }
}

fn ask(dmi: &[(&str, &str)], respond: fn(&Request) -> String) -> (CloudInfo, Vec<Request>) {
    let server = Server::start(respond);
    let info = discover(machine(dmi).path(), Some(&config(server.base())));
    (info, server.stop())
}

fn facts(info: &CloudInfo) -> (Option<Vendor>, Option<&str>, Option<&str>, Option<&str>) {
    (info.vendor, info.instance_type.as_deref(), info.region.as_deref(), info.zone.as_deref())
}

#[test]
fn aws_takes_a_token_first_and_shows_it_with_every_question() {
    let (info, seen) = ask(AWS_DMI, |request| match (request.method.as_str(), request.path.as_str()) {
        ("PUT", "/latest/api/token") => match request.header("x-aws-ec2-metadata-token-ttl-seconds") {
            Some(ttl) if (1..=21_600).contains(&ttl.parse::<u32>().unwrap_or(0)) => ok("AQAEtoken=="),
            _ => loopback::status(400),
        },
        ("GET", path) if request.header("x-aws-ec2-metadata-token") == Some("AQAEtoken==") => match path {
            "/latest/meta-data/instance-type" => ok("g4dn.xlarge"),
            "/latest/meta-data/placement/region" => ok("us-west-2"),
            "/latest/meta-data/placement/availability-zone" => ok("us-west-2b"),
            _ => loopback::status(404),
        },
        _ => loopback::status(401),
    });
    assert_eq!(facts(&info), (Some(Vendor::Aws), Some("g4dn.xlarge"), Some("us-west-2"), Some("us-west-2b")));
    assert_eq!(info.source, CloudSource::Metadata);
    assert_eq!(info.reason, None);
    assert_eq!(seen.len(), 4);
    let compat = cloud_info_compat(&info);
    assert_eq!((&compat["vendor"], &compat["region"]), (&"aws".into(), &"us-west-2".into()));
}

#[test]
fn google_wants_its_flavour_header_both_ways() {
    let dmi = [("product_name", "Google Compute Engine")];
    let (info, _) = ask(&dmi, |request| {
        if request.header("metadata-flavor") != Some("Google") {
            return loopback::status(403);
        }
        let body = match request.path.as_str() {
            "/computeMetadata/v1/instance/machine-type" => "projects/123456/machineTypes/n2-standard-8",
            "/computeMetadata/v1/instance/zone" => "projects/123456/zones/europe-west1-b",
            _ => return loopback::status(404),
        };
        loopback::with_headers(body, "Metadata-Flavor: Google\r\nServer: Metadata Server for VM\r\n")
    });
    let expected = (Some(Vendor::Gcp), Some("n2-standard-8"), Some("europe-west1"), Some("europe-west1-b"));
    assert_eq!(facts(&info), expected);

    let (impostor, _) = ask(&dmi, |_| ok("projects/1/machineTypes/n2-standard-8"));
    assert_eq!(facts(&impostor), (Some(Vendor::Gcp), None, None, None));
    assert_eq!(impostor.source, CloudSource::Dmi);
    assert!(impostor.reason.unwrap().contains("Metadata-Flavor"));
}

#[test]
fn azure_answers_json_to_the_metadata_header_and_an_api_version() {
    let dmi =
        [("sys_vendor", "Microsoft Corporation"), ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77")];
    let (info, _) = ask(&dmi, |request| {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        if request.header("metadata") != Some("true") || !query.starts_with("api-version=20") {
            return loopback::status(400);
        }
        match path {
            "/metadata/instance/compute" => {
                ok(r#"{"azEnvironment":"AzurePublicCloud","location":"westeurope",
                "vmSize":"Standard_D4s_v3","zone":"2","osProfile":{"adminUsername":"x"}}"#)
            }
            _ => loopback::status(404),
        }
    });
    assert_eq!(facts(&info), (Some(Vendor::Azure), Some("Standard_D4s_v3"), Some("westeurope"), Some("2")));
}

#[test]
fn hetzner_answers_yaml_without_a_server_type() {
    let (info, _) = ask(&[("sys_vendor", "Hetzner"), ("product_name", "vServer")], |request| {
        assert_eq!(request.path, "/hetzner/v1/metadata");
        ok("availability-zone: fsn1-dc14\nhostname: box\ninstance-id: 4711\npublic-keys: []\n\
            network-config:\n  config:\n  - region: not-this\nregion: eu-central\n")
    });
    assert_eq!(facts(&info), (Some(Vendor::Hetzner), None, Some("eu-central"), Some("fsn1-dc14")));
    assert!(info.reason.as_ref().unwrap().contains("server type"));
    assert_eq!(cloud_info_compat(&info)["vendor"], "hcloud");
    assert_eq!(cloud_info_compat(&info)["instance_type"], "unknown");
}

fn openstack(request: &Request, resolver: &str) -> String {
    match request.path.as_str() {
        "/openstack/latest/meta_data.json" => {
            ok(r#"{"uuid":"d8e0","availability_zone":"eu-west-par-a","meta":{},"random_seed":"AAAA"}"#)
        }
        "/openstack/latest/network_data.json" => {
            ok(&format!(r#"{{"services":[{{"type":"dns","address":"{resolver}"}}],"links":[]}}"#))
        }
        "/latest/meta-data/instance-type" => ok("b3-8"),
        _ => loopback::status(404),
    }
}

#[test]
fn ovh_is_openstack_with_its_own_resolver() {
    let (info, _) = ask(OPENSTACK_DMI, |request| openstack(request, "213.186.33.99"));
    assert_eq!(facts(&info), (Some(Vendor::Ovh), Some("b3-8"), Some("eu-west-par-a"), Some("eu-west-par-a")));
    let (other, _) = ask(OPENSTACK_DMI, |request| openstack(request, "192.0.2.1"));
    assert_eq!(other.vendor, Some(Vendor::OpenStack));
}

#[test]
fn openstack_calls_a_nameless_zone_nova_and_that_is_no_region() {
    let (info, _) = ask(OPENSTACK_DMI, |request| match request.path.as_str() {
        "/openstack/latest/meta_data.json" => ok(r#"{"availability_zone":"nova"}"#),
        _ => loopback::status(404),
    });
    assert_eq!(facts(&info), (Some(Vendor::OpenStack), None, None, None));
    assert!(info.reason.unwrap().contains("region"));
}

#[test]
fn upcloud_says_its_own_name() {
    let dmi = [("sys_vendor", "UpCloud")];
    let (info, _) = ask(&dmi, |request| {
        assert_eq!(request.path, "/metadata/v1.json");
        ok(r#"{"cloud_name":"upcloud","instance_id":"00322b68","platform":"servers","region":"de-fra1"}"#)
    });
    assert_eq!(facts(&info), (Some(Vendor::UpCloud), None, Some("de-fra1"), Some("de-fra1")));
    let (other, _) = ask(&dmi, |_| ok(r#"{"droplet_id":1,"region":"nyc3"}"#));
    assert_eq!((other.region, other.source), (None, CloudSource::Dmi));
}

#[test]
fn vultr_nests_its_region() {
    let (info, _) = ask(&[("sys_vendor", "Vultr"), ("product_name", "VC2")], |request| {
        assert_eq!(request.path, "/v1.json");
        ok(r#"{"hostname":"v","instanceid":"a747","instance-v2-id":"36e9","interfaces":[],
               "region":{"regioncode":"EWR","countrycode":"US"}}"#)
    });
    assert_eq!(facts(&info), (Some(Vendor::Vultr), None, Some("EWR"), None));
}

fn alibaba(request: &Request) -> String {
    match (request.method.as_str(), request.path.as_str()) {
        ("PUT", "/latest/api/token") => match request.header("x-aliyun-ecs-metadata-token-ttl-seconds") {
            Some(_) => ok("YQ=="),
            None => loopback::status(400),
        },
        ("GET", _) if request.header("x-aliyun-ecs-metadata-token") != Some("YQ==") => loopback::status(403),
        ("GET", path) => alibaba_value(path),
        _ => loopback::status(405),
    }
}

fn alibaba_value(path: &str) -> String {
    match path {
        "/latest/meta-data/instance/instance-type" => ok("ecs.g7.xlarge"),
        "/latest/meta-data/region-id" => ok("cn-hangzhou"),
        "/latest/meta-data/zone-id" => ok("cn-hangzhou-i"),
        _ => loopback::status(404),
    }
}

#[test]
fn alibaba_in_hardened_and_in_plain_mode() {
    let dmi = [("sys_vendor", "Alibaba Cloud"), ("product_name", "Alibaba Cloud ECS")];
    let expected = (Some(Vendor::Alibaba), Some("ecs.g7.xlarge"), Some("cn-hangzhou"), Some("cn-hangzhou-i"));
    let (hardened, _) = ask(&dmi, alibaba);
    assert_eq!(facts(&hardened), expected);
    let (plain, seen) = ask(&dmi, |request| match request.method.as_str() {
        "GET" => alibaba_value(&request.path),
        _ => loopback::status(404),
    });
    assert_eq!(facts(&plain), expected);
    assert!(seen.iter().all(|request| request.header("x-aliyun-ecs-metadata-token").is_none()));
}

#[test]
fn digitalocean_tells_the_region_only() {
    let (info, seen) = ask(&[("sys_vendor", "DigitalOcean"), ("product_name", "Droplet")], |request| {
        match request.path.as_str() {
            "/metadata/v1/region" => ok("nyc3"),
            _ => loopback::status(404),
        }
    });
    assert_eq!(facts(&info), (Some(Vendor::DigitalOcean), None, Some("nyc3"), None));
    // The whole document holds an authentication key: it is never asked for.
    assert!(seen.iter().all(|request| request.path != "/metadata/v1.json"));
}

#[test]
fn oracle_wants_its_bearer() {
    let (info, _) =
        ask(&[("sys_vendor", "QEMU"), ("chassis_asset_tag", "OracleCloud.com")], |request| {
            match (request.header("authorization"), request.path.as_str()) {
                (Some("Bearer Oracle"), "/opc/v2/instance/") => loopback::chunked(
                    r#"{"availabilityDomain":"EMIr:PHX-AD-1","canonicalRegionName":"us-phoenix-1",
                    "region":"phx","shape":"VM.Standard.E4.Flex","metadata":{"ssh_authorized_keys":"x"}}"#,
                ),
                _ => loopback::status(404),
            }
        });
    let expected =
        (Some(Vendor::Oracle), Some("VM.Standard.E4.Flex"), Some("us-phoenix-1"), Some("EMIr:PHX-AD-1"));
    assert_eq!(facts(&info), expected);
}

#[test]
fn without_permission_or_without_a_named_vendor_nobody_is_asked() {
    let server = Server::start(|_| ok("x"));
    let base = config(server.base());
    let nitro = machine(&[("sys_vendor", "Amazon EC2"), ("product_name", "m5.large")]);
    let info = discover(nitro.path(), None);
    assert_eq!(facts(&info), (Some(Vendor::Aws), Some("m5.large"), None, None));
    assert_eq!(info.source, CloudSource::Dmi);
    for dmi in [&[][..], &[("sys_vendor", "QEMU")][..]] {
        let info = discover(machine(dmi).path(), Some(&base));
        assert_eq!((info.vendor, info.source), (None, CloudSource::None));
        assert!(info.reason.is_some());
    }
    assert_eq!(discover(Path::new("/nonexistent-root"), Some(&base)).vendor, None);
    assert_eq!(server.stop().len(), 0);
}

#[test]
fn a_refusing_service_leaves_what_dmi_knows() {
    // Bound and dropped: nobody listens there.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let nitro = machine(&[("sys_vendor", "Amazon EC2"), ("product_name", "m5.large")]);
    let info = discover(nitro.path(), Some(&config(&format!("http://127.0.0.1:{port}"))));
    assert_eq!(facts(&info), (Some(Vendor::Aws), Some("m5.large"), None, None));
    assert_eq!(info.source, CloudSource::Dmi);
    assert!(info.reason.unwrap().contains("cannot be reached"));
}

#[test]
fn redirects_are_not_followed_and_errors_are_told() {
    let (info, seen) =
        ask(AWS_DMI, |_| "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n".into());
    assert!(info.reason.unwrap().contains("redirects (status 302)"));
    assert_eq!(seen.len(), 1);
    let (info, _) = ask(AWS_DMI, |_| loopback::status(500));
    assert!(info.reason.unwrap().contains("status 500"));
    // Half an answer is half the facts, with the reason.
    let (info, _) = ask(AWS_DMI, |request| match request.path.as_str() {
        "/latest/api/token" => ok("t"),
        "/latest/meta-data/placement/region" => ok("eu-north-1"),
        _ => loopback::status(404),
    });
    assert_eq!(facts(&info), (Some(Vendor::Aws), None, Some("eu-north-1"), None));
    assert!(info.reason.unwrap().contains("404"));
}

#[test]
fn garbage_is_tolerated_and_never_believed() {
    type Respond = fn(&Request) -> String;
    let answers: [Respond; 7] = [
        |_| String::new(),
        |_| "SSH-2.0-OpenSSH_9.2\r\n".into(),
        |_| ok("<html><body>Please log in</body></html>"),
        |_| ok("\u{1b}[31mred\u{1b}[0m"),
        |_| ok(&"x".repeat(1 << 20)),
        |_| "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nx".into(),
        |_| "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".into(),
    ];
    for dmi in [
        AWS_DMI,
        OPENSTACK_DMI,
        &[("product_name", "Google Compute Engine")],
        &[("chassis_asset_tag", "OracleCloud.com")],
        &[("sys_vendor", "Hetzner")],
        &[("sys_vendor", "Vultr")],
        &[("sys_vendor", "DigitalOcean")],
    ] {
        for respond in answers {
            let (info, _) = ask(dmi, respond);
            assert_eq!((info.instance_type, info.region, info.zone), (None, None, None), "{dmi:?}");
            assert_eq!(info.source, CloudSource::Dmi);
            assert!(info.reason.is_some());
        }
    }
}

#[test]
fn a_token_cannot_smuggle_a_second_request() {
    let (info, seen) = ask(AWS_DMI, |request| match request.path.as_str() {
        "/latest/api/token" => ok("t\r\nX-Evil: 1"),
        _ => ok("m5.large"),
    });
    assert_eq!(info.instance_type, None);
    assert_eq!(seen.len(), 1);
}

/// That no wait may reach beyond the deadline is a matter of the code and tested there. What a busy machine adds is
/// not: of a few tries the quickest must keep the promise of the whole call, where the servers would take minutes.
#[test]
fn discovery_keeps_its_time_out_however_slow_the_service() {
    let timeout = MetadataConfig::default().timeout;
    assert_eq!(timeout, Duration::from_millis(500));
    for server in [
        Server::silent(),
        Server::trickling(),
        Server::slow_after_the_token(),
        Server::late_by(Duration::from_millis(200)),
        Server::never_accepting(),
    ] {
        let config = MetadataConfig { base: Some(server.base().to_owned()), timeout };
        let machine = machine(AWS_DMI);
        let mut shortest = Duration::MAX;
        for _ in 0..5 {
            let started = std::time::Instant::now();
            let info = discover(machine.path(), Some(&config));
            let took = started.elapsed();
            shortest = shortest.min(took);
            assert!(info.discovery_time_s <= took.as_secs_f64());
            assert_eq!(info.vendor, Some(Vendor::Aws));
            assert!(info.reason.unwrap().contains("in time"));
            if took <= timeout {
                break;
            }
        }
        eprintln!("{}: {:.1} ms", server.name(), shortest.as_secs_f64() * 1e3);
        assert!(shortest <= timeout, "{} took {shortest:?}", server.name());
        server.stop();
    }
}

#[test]
fn a_base_that_needs_a_resolver_is_refused() {
    let config =
        MetadataConfig { base: Some("http://metadata.invalid".into()), timeout: Duration::from_secs(1) };
    let info = discover(machine(AWS_DMI).path(), Some(&config));
    assert!(info.reason.unwrap().contains("http://ADDRESS[:PORT]"));
}
