//! The clouds known by name and where each keeps its metadata service.

use serde::Serialize;

/// Whose machine it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Vendor {
    /// Amazon Web Services.
    Aws,
    /// Google Cloud.
    Gcp,
    /// Microsoft Azure.
    Azure,
    /// Hetzner Cloud.
    Hetzner,
    /// OVHcloud.
    Ovh,
    /// UpCloud.
    UpCloud,
    /// Vultr.
    Vultr,
    /// Alibaba Cloud.
    Alibaba,
    /// DigitalOcean.
    DigitalOcean,
    /// Oracle Cloud.
    Oracle,
    /// Some OpenStack cloud that is not known to be OVH's.
    OpenStack,
}

impl Vendor {
    /// Every vendor.
    pub const ALL: [Vendor; 11] = [
        Vendor::Aws,
        Vendor::Gcp,
        Vendor::Azure,
        Vendor::Hetzner,
        Vendor::Ovh,
        Vendor::UpCloud,
        Vendor::Vultr,
        Vendor::Alibaba,
        Vendor::DigitalOcean,
        Vendor::Oracle,
        Vendor::OpenStack,
    ];

    /// The word in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Vendor::Aws => "aws",
            Vendor::Gcp => "gcp",
            Vendor::Azure => "azure",
            Vendor::Hetzner => "hetzner",
            Vendor::Ovh => "ovh",
            Vendor::UpCloud => "upcloud",
            Vendor::Vultr => "vultr",
            Vendor::Alibaba => "alibaba",
            Vendor::DigitalOcean => "digitalocean",
            Vendor::Oracle => "oracle",
            Vendor::OpenStack => "openstack",
        }
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Vendor::Aws => "Amazon Web Services",
            Vendor::Gcp => "Google Cloud",
            Vendor::Azure => "Microsoft Azure",
            Vendor::Hetzner => "Hetzner Cloud",
            Vendor::Ovh => "OVHcloud",
            Vendor::UpCloud => "UpCloud",
            Vendor::Vultr => "Vultr",
            Vendor::Alibaba => "Alibaba Cloud",
            Vendor::DigitalOcean => "DigitalOcean",
            Vendor::Oracle => "Oracle Cloud",
            Vendor::OpenStack => "OpenStack",
        }
    }

    /// Where the vendor documents its metadata service. Addresses, not names: no resolver is asked.
    pub(crate) fn base(self) -> &'static str {
        match self {
            Vendor::Alibaba => "http://100.100.100.200",
            _ => "http://169.254.169.254",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vendor_serializes_as_its_key_and_has_a_usable_base() {
        for vendor in Vendor::ALL {
            assert_eq!(serde_json::to_value(vendor).unwrap(), vendor.key());
            assert!(crate::cloud::http::parse_base(vendor.base()).is_ok());
        }
    }
}
