//! What the firmware says: DMI strings name the cloud without a network.

use super::vendor::Vendor;
use crate::root::Root;

/// The asset tag that Azure gives every virtual machine; other Hyper-V hosts have none or another.
const AZURE_ASSET_TAG: &str = "7783-7084-3265-9085-8269-3286-77";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Dmi {
    pub(crate) sys_vendor: Option<String>,
    pub(crate) product_name: Option<String>,
    /// Readable by root only on most systems.
    pub(crate) product_uuid: Option<String>,
    pub(crate) bios_vendor: Option<String>,
    pub(crate) bios_version: Option<String>,
    pub(crate) board_vendor: Option<String>,
    pub(crate) chassis_vendor: Option<String>,
    pub(crate) chassis_asset_tag: Option<String>,
}

/// A vendor and the file that named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) vendor: Vendor,
    pub(crate) evidence: &'static str,
}

impl Dmi {
    pub(crate) fn read(root: Root<'_>) -> Dmi {
        let field = |name: &str| root.value(&format!("sys/class/dmi/id/{name}"));
        Dmi {
            sys_vendor: field("sys_vendor"),
            product_name: field("product_name"),
            product_uuid: field("product_uuid").or_else(|| root.value("sys/hypervisor/uuid")),
            bios_vendor: field("bios_vendor"),
            bios_version: field("bios_version"),
            board_vendor: field("board_vendor"),
            chassis_vendor: field("chassis_vendor"),
            chassis_asset_tag: field("chassis_asset_tag"),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Dmi::default()
    }

    /// The cloud that the strings name. Anything a user of a hypervisor could leave at its default (`QEMU`,
    /// `Microsoft Corporation`, `Xen`) is not enough.
    pub(crate) fn vendor(&self) -> Option<Named> {
        let is = |field: &Option<String>, text: &str| field.as_deref() == Some(text);
        let starts = |field: &Option<String>, text: &str| {
            field.as_deref().is_some_and(|value| value.to_ascii_lowercase().starts_with(text))
        };
        let named = |vendor, evidence| Some(Named { vendor, evidence });

        if is(&self.sys_vendor, "Amazon EC2") || is(&self.bios_vendor, "Amazon EC2") {
            return named(Vendor::Aws, "DMI sys_vendor");
        }
        // Instances on Xen: the vendor is Xen, the firmware's version and the uuid tell.
        let xen = is(&self.sys_vendor, "Xen");
        if xen && self.bios_version.as_deref().is_some_and(|version| version.ends_with(".amazon")) {
            return named(Vendor::Aws, "DMI bios_version");
        }
        if xen && starts(&self.product_uuid, "ec2") {
            return named(Vendor::Aws, "DMI product_uuid");
        }
        if is(&self.product_name, "Google Compute Engine")
            || (is(&self.sys_vendor, "Google") && is(&self.bios_vendor, "Google"))
        {
            return named(Vendor::Gcp, "DMI product_name");
        }
        if is(&self.chassis_asset_tag, AZURE_ASSET_TAG) {
            return named(Vendor::Azure, "DMI chassis_asset_tag");
        }
        if is(&self.chassis_asset_tag, "OracleCloud.com") {
            return named(Vendor::Oracle, "DMI chassis_asset_tag");
        }
        for (text, vendor) in [
            ("hetzner", Vendor::Hetzner),
            ("ovh", Vendor::Ovh),
            ("upcloud", Vendor::UpCloud),
            ("vultr", Vendor::Vultr),
            ("alibaba cloud", Vendor::Alibaba),
            ("digitalocean", Vendor::DigitalOcean),
        ] {
            if starts(&self.sys_vendor, text) {
                return named(vendor, "DMI sys_vendor");
            }
        }
        if starts(&self.product_name, "alibaba cloud ecs") {
            return named(Vendor::Alibaba, "DMI product_name");
        }
        if starts(&self.product_name, "openstack") || starts(&self.sys_vendor, "openstack") {
            let ovh = starts(&self.board_vendor, "ovh") || starts(&self.chassis_vendor, "ovh");
            return named(if ovh { Vendor::Ovh } else { Vendor::OpenStack }, "DMI product_name");
        }
        None
    }

    /// The instance type, where the firmware carries it: on AWS's own hypervisor and bare metal the product
    /// name is the type (`m5.large`), on Xen it is `HVM domU`.
    pub(crate) fn instance_type(&self, vendor: Vendor) -> Option<String> {
        let name = self.product_name.as_deref()?;
        let looks_like_a_type = name.contains('.')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-');
        (vendor == Vendor::Aws && looks_like_a_type).then(|| name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dmi(fields: &[(&str, &str)]) -> Dmi {
        let folder = tempfile::tempdir().unwrap();
        let id = folder.path().join("sys/class/dmi/id");
        std::fs::create_dir_all(&id).unwrap();
        for (name, text) in fields {
            std::fs::write(id.join(name), format!("{text}\n")).unwrap();
        }
        Dmi::read(Root::new(folder.path()))
    }

    fn vendor(fields: &[(&str, &str)]) -> Option<Vendor> {
        dmi(fields).vendor().map(|named| named.vendor)
    }

    #[test]
    fn each_cloud_by_the_strings_it_really_writes() {
        let nitro =
            [("sys_vendor", "Amazon EC2"), ("product_name", "g4dn.xlarge"), ("bios_vendor", "Amazon EC2")];
        assert_eq!(vendor(&nitro), Some(Vendor::Aws));
        assert_eq!(dmi(&nitro).instance_type(Vendor::Aws).as_deref(), Some("g4dn.xlarge"));
        let xen = [("sys_vendor", "Xen"), ("product_name", "HVM domU"), ("bios_version", "4.11.amazon")];
        assert_eq!(vendor(&xen), Some(Vendor::Aws));
        assert_eq!(dmi(&xen).instance_type(Vendor::Aws), None);
        assert_eq!(
            vendor(&[("sys_vendor", "Xen"), ("product_uuid", "EC2E1916-9099-7CAF-FD21-012345ABCDEF")]),
            Some(Vendor::Aws)
        );
        assert_eq!(
            vendor(&[("sys_vendor", "Google"), ("product_name", "Google Compute Engine")]),
            Some(Vendor::Gcp)
        );
        assert_eq!(
            vendor(&[("sys_vendor", "Microsoft Corporation"), ("chassis_asset_tag", AZURE_ASSET_TAG)]),
            Some(Vendor::Azure)
        );
        assert_eq!(vendor(&[("sys_vendor", "Hetzner"), ("product_name", "vServer")]), Some(Vendor::Hetzner));
        assert_eq!(vendor(&[("sys_vendor", "UpCloud")]), Some(Vendor::UpCloud));
        assert_eq!(vendor(&[("sys_vendor", "Vultr"), ("product_name", "VC2")]), Some(Vendor::Vultr));
        assert_eq!(
            vendor(&[("sys_vendor", "Alibaba Cloud"), ("product_name", "Alibaba Cloud ECS")]),
            Some(Vendor::Alibaba)
        );
        assert_eq!(
            vendor(&[("sys_vendor", "DigitalOcean"), ("product_name", "Droplet")]),
            Some(Vendor::DigitalOcean)
        );
        assert_eq!(
            vendor(&[("sys_vendor", "QEMU"), ("chassis_asset_tag", "OracleCloud.com")]),
            Some(Vendor::Oracle)
        );
        let openstack = [("sys_vendor", "OpenStack Foundation"), ("product_name", "OpenStack Nova")];
        assert_eq!(vendor(&openstack), Some(Vendor::OpenStack));
    }

    #[test]
    fn hypervisors_at_home_are_not_clouds() {
        for fields in [
            vec![],
            vec![("sys_vendor", "QEMU"), ("product_name", "Standard PC (Q35 + ICH9, 2009)")],
            vec![("sys_vendor", "Microsoft Corporation"), ("product_name", "Virtual Machine")],
            vec![("sys_vendor", "Xen"), ("product_name", "HVM domU")],
            vec![("sys_vendor", "Google"), ("product_name", "Chromebook"), ("bios_vendor", "coreboot")],
            vec![("sys_vendor", "LENOVO")],
        ] {
            assert_eq!(vendor(&fields), None, "{fields:?}");
        }
    }
}
