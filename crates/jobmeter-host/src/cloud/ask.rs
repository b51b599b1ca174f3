//! The conversation with each vendor's metadata service, as the vendor documents it. Only what names the
//! machine is asked for; keys, user data and credentials are left where they are.

use super::http::{Answer, Client, Failure};
use super::vendor::Vendor;
use serde_json::Value;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) instance_type: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) zone: Option<String>,
    /// Where the service knows better than DMI whose it is.
    pub(crate) vendor: Option<Vendor>,
    pub(crate) reason: Option<String>,
}

/// Tokens are used at once; a minute is the shortest that all services accept gladly.
const TOKEN_SECONDS: &str = "60";

pub(crate) fn ask(vendor: Vendor, client: &Client) -> Result<Facts, Failure> {
    match vendor {
        Vendor::Aws => aws(client),
        Vendor::Gcp => gcp(client),
        Vendor::Azure => azure(client),
        Vendor::Hetzner => hetzner(client),
        Vendor::Ovh | Vendor::OpenStack => openstack(client, vendor),
        Vendor::UpCloud => upcloud(client),
        Vendor::Vultr => vultr(client),
        Vendor::Alibaba => alibaba(client),
        Vendor::DigitalOcean => digitalocean(client),
        Vendor::Oracle => oracle(client),
    }
}

/// IMDSv2 only: a token by PUT, then values with it.
fn aws(client: &Client) -> Result<Facts, Failure> {
    let token =
        client.put("/latest/api/token", &[("X-aws-ec2-metadata-token-ttl-seconds", TOKEN_SECONDS)])?;
    let get = |path: &str| {
        client
            .get(&format!("/latest/meta-data/{path}"), &[("X-aws-ec2-metadata-token", token.body.trim())])
            .and_then(word)
    };
    gather([get("instance-type"), get("placement/region"), get("placement/availability-zone")])
}

/// The answer must carry the flavour header too: another service at the address would not.
fn gcp(client: &Client) -> Result<Facts, Failure> {
    let get = |name: &str| -> Result<String, Failure> {
        let answer =
            client.get(&format!("/computeMetadata/v1/instance/{name}"), &[("Metadata-Flavor", "Google")])?;
        if answer.header("Metadata-Flavor") != Some("Google") {
            return Err(Failure::Garbage("no Metadata-Flavor header, so it is not Google's"));
        }
        // projects/NUMBER/machineTypes/TYPE, projects/NUMBER/zones/ZONE
        word(answer).map(|path| path.rsplit('/').next().unwrap_or_default().to_owned())
    };
    let zone = get("zone");
    let region = match &zone {
        Ok(zone) => zone
            .rsplit_once('-')
            .map(|(region, _)| region.to_owned())
            .ok_or(Failure::Garbage("a zone without a region")),
        Err(failure) => Err(failure.clone()),
    };
    gather([get("machine-type"), region, zone])
}

fn azure(client: &Client) -> Result<Facts, Failure> {
    let answer = client.get("/metadata/instance/compute?api-version=2021-02-01", &[("Metadata", "true")])?;
    let compute = json(answer)?;
    Ok(Facts {
        instance_type: text(&compute, "vmSize"),
        region: text(&compute, "location"),
        // Empty where the region has no zones or the machine is in none.
        zone: text(&compute, "zone"),
        ..Facts::default()
    })
}

/// A YAML document; the two keys of interest are plain scalars at its top. It has no server type.
fn hetzner(client: &Client) -> Result<Facts, Failure> {
    let body = client.get("/hetzner/v1/metadata", &[])?.body;
    let scalar = |key: &str| {
        let value = body.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        checked(value.trim().trim_matches(['"', '\'']))
    };
    let facts = Facts {
        region: scalar("region"),
        zone: scalar("availability-zone"),
        reason: Some("Hetzner's metadata service does not tell the server type".into()),
        ..Facts::default()
    };
    if facts.region.is_none() && facts.zone.is_none() {
        return Err(Failure::Garbage("neither a region nor a zone"));
    }
    Ok(facts)
}

/// Any OpenStack cloud; OVH's is known by the resolver that it gives to every machine.
fn openstack(client: &Client, named: Vendor) -> Result<Facts, Failure> {
    const OVH_RESOLVER: &str = "213.186.33.99";
    let meta = json(client.get("/openstack/latest/meta_data.json", &[])?)?;
    let network = client.get("/openstack/latest/network_data.json", &[]).and_then(json).unwrap_or_default();
    let is_ovh = network["services"].as_array().is_some_and(|services| {
        services.iter().any(|service| service["type"] == "dns" && service["address"] == OVH_RESOLVER)
    });
    // `nova` is the name of the zone where nobody gave it one.
    let zone = text(&meta, "availability_zone").filter(|zone| zone != "nova");
    let region = text(&meta, "region").or_else(|| text(&meta["meta"], "region").or_else(|| zone.clone()));
    let instance_type = client.get("/latest/meta-data/instance-type", &[]).and_then(word).ok();
    Ok(Facts {
        reason: (region.is_none()).then(|| "this OpenStack service does not tell the region".to_owned()),
        instance_type,
        region,
        zone,
        vendor: Some(if is_ovh { Vendor::Ovh } else { named }),
    })
}

fn upcloud(client: &Client) -> Result<Facts, Failure> {
    let data = json(client.get("/metadata/v1.json", &[])?)?;
    if data["cloud_name"] != "upcloud" {
        return Err(Failure::Garbage("another cloud's name than UpCloud's"));
    }
    Ok(Facts {
        region: text(&data, "region"),
        // A zone is what UpCloud's catalogue calls this region.
        zone: text(&data, "region"),
        reason: Some("UpCloud's metadata service does not tell the plan".into()),
        ..Facts::default()
    })
}

fn vultr(client: &Client) -> Result<Facts, Failure> {
    let data = json(client.get("/v1.json", &[])?)?;
    if text(&data, "instanceid").is_none() && text(&data, "instance-v2-id").is_none() {
        return Err(Failure::Garbage("no instance id, so it is not Vultr's"));
    }
    Ok(Facts {
        region: text(&data["region"], "regioncode"),
        reason: Some("Vultr's metadata service does not tell the plan".into()),
        ..Facts::default()
    })
}

/// Token mode, which works whether the instance enforces it or not; without a token service the plain mode.
fn alibaba(client: &Client) -> Result<Facts, Failure> {
    let token = match client
        .put("/latest/api/token", &[("X-aliyun-ecs-metadata-token-ttl-seconds", TOKEN_SECONDS)])
    {
        Ok(answer) => Some(answer.body.trim().to_owned()),
        Err(Failure::Status(_)) => None,
        Err(failure) => return Err(failure),
    };
    let headers: Vec<(&str, &str)> =
        token.iter().map(|token| ("X-aliyun-ecs-metadata-token", token.as_str())).collect();
    let get = |path: &str| client.get(&format!("/latest/meta-data/{path}"), &headers).and_then(word);
    gather([get("instance/instance-type"), get("region-id"), get("zone-id")])
}

fn digitalocean(client: &Client) -> Result<Facts, Failure> {
    let region = client.get("/metadata/v1/region", &[]).and_then(word)?;
    Ok(Facts {
        region: Some(region),
        reason: Some("DigitalOcean's metadata service does not tell the droplet's size".into()),
        ..Facts::default()
    })
}

fn oracle(client: &Client) -> Result<Facts, Failure> {
    let data = json(client.get("/opc/v2/instance/", &[("Authorization", "Bearer Oracle")])?)?;
    Ok(Facts {
        instance_type: text(&data, "shape"),
        // `region` may be a three-letter code; the canonical name is what price lists use.
        region: text(&data, "canonicalRegionName").or_else(|| text(&data, "region")),
        zone: text(&data, "availabilityDomain"),
        ..Facts::default()
    })
}

/// Type, region and zone asked for one by one: what came counts, and if nothing came, why.
fn gather([instance_type, region, zone]: [Result<String, Failure>; 3]) -> Result<Facts, Failure> {
    let first_failure =
        [&instance_type, &region, &zone].into_iter().find_map(|answer| answer.as_ref().err().cloned());
    if let (Err(_), Err(_), Err(failure)) = (&instance_type, &region, &zone) {
        return Err(first_failure.unwrap_or_else(|| failure.clone()));
    }
    Ok(Facts {
        instance_type: instance_type.ok(),
        region: region.ok(),
        zone: zone.ok(),
        vendor: None,
        reason: first_failure.map(|failure| failure.to_string()),
    })
}

fn json(answer: Answer) -> Result<Value, Failure> {
    match serde_json::from_str(&answer.body) {
        Ok(value @ Value::Object(_)) => Ok(value),
        _ => Err(Failure::Garbage("something that is not a JSON object")),
    }
}

fn text(object: &Value, key: &str) -> Option<String> {
    checked(object.get(key)?.as_str()?)
}

/// A plain-text answer of one word; an error page or a login form is not one.
fn word(answer: Answer) -> Result<String, Failure> {
    checked(answer.body.trim()).ok_or(Failure::Garbage("something that is not a name"))
}

/// Names of types, regions and zones: printable, short, without spaces. Anything else is not believed.
fn checked(value: &str) -> Option<String> {
    let fits = !value.is_empty()
        && value.len() <= 128
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:".contains(&byte));
    fits.then(|| value.to_owned())
}
