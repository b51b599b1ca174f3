"""Compile crates/jobmeter-insight/data/servers.csv. Optional: no build and no test runs it.

Facts of large vendors come from two Python packages that must be installed beforehand
(moto for the hardware of EC2, apache-libcloud for the prices of EC2, Azure and Compute Engine);
the rest are the vendors' own price lists, entered below. Run it as

    python tools/build_catalogue.py > crates/jobmeter-insight/data/servers.csv

Two repairs are made to the packaged prices. Zeros mean "unknown" there and are dropped. About one price
in eight is a few per cent too high; a family's price is proportional to its size, so the lowest price per
unit of size is taken for the whole family. GPU families are not proportional and are entered by hand.
"""

# Tables read best as tables.
# fmt: off

import gzip
import json
import pathlib
import sys

GIB = 1024
PACKAGED, HARDWARE_LISTED, LISTED, APPROXIMATE, GCE_PARTS, AZURE_SIZES, LISTED_2026 = "a", "b", "c", "d", "e", "f", "g"
SOURCES = {
    PACKAGED: "moto 5.2 (hardware); apache-libcloud 3.9.1 price file (2025-03), repaired by family proportion",
    HARDWARE_LISTED: "moto 5.2 (hardware); vendor price list, compiled 2025",
    LISTED: "vendor price list, compiled 2025",
    APPROXIMATE: "approximate vendor list price, compiled 2025, check before relying on it",
    GCE_PARTS: "apache-libcloud 3.9.1 price file (2025-03), per core and per GB; shapes by the vendor's naming",
    AZURE_SIZES: "apache-libcloud 3.9.1 price file (2025-03); sizes by the vendor's documentation, compiled 2025",
    LISTED_2026: "vendor price list, compiled 2026",
}
rows = []


def row(vendor, kind, family, category, arch, vcpus, mib, prices, currency, as_of, source, gpu=("", 0, 0)):
    """`gpu` is (model, count, nominal GiB of each); `prices` maps a region to an hourly price."""
    model, count, vram = gpu
    text = " ".join(f"{region}={price:.6f}".rstrip("0").rstrip(".") for region, price in prices.items())
    rows.append((vendor, kind, family, category, arch, vcpus, mib, model, count or "", vram * GIB if vram else "",
                 text, currency, as_of, source))


def package_data(package, relative):
    """The JSON file that an installed package carries."""
    content = (pathlib.Path(__import__(package).__file__).parent / relative).read_bytes()
    return json.loads(gzip.decompress(content) if relative.endswith(".gz") else content)


AWS_FAMILIES = {
    "burstable": "t2 t3 t3a t4g",
    "general": "m4 m5 m5a m5ad m5d m5n m5zn m6a m6g m6gd m6i m6id m6idn m6in m7a m7g m7gd m7i m7i-flex m8g",
    "compute": "c4 c5 c5a c5ad c5d c5n c6a c6g c6gd c6gn c6i c6id c6in c7a c7g c7gd c7gn c7i c7i-flex c8g",
    "memory": "r4 r5 r5a r5ad r5b r5d r5n r6a r6g r6gd r6i r6id r6in r7a r7g r7gd r7i r7iz r8g x1 x1e x2gd x2idn "
              "x2iedn x2iezn x8g z1d",
    "storage": "i3 i3en i4g i4i im4gn is4gen d3 d3en",
}
# us-east-1, on demand.
AWS_GPU_PRICES = {
    "g4dn.xlarge": 0.526, "g4dn.2xlarge": 0.752, "g4dn.4xlarge": 1.204, "g4dn.8xlarge": 2.176,
    "g4dn.12xlarge": 3.912, "g4dn.16xlarge": 4.352,
    "g5.xlarge": 1.006, "g5.2xlarge": 1.212, "g5.4xlarge": 1.624, "g5.8xlarge": 2.448, "g5.12xlarge": 5.672,
    "g5.16xlarge": 4.096, "g5.24xlarge": 8.144, "g5.48xlarge": 16.288,
    "g6.xlarge": 0.8048, "g6.2xlarge": 0.9776, "g6.4xlarge": 1.3232, "g6.8xlarge": 2.0144, "g6.12xlarge": 4.6016,
    "g6.16xlarge": 3.3968, "g6.24xlarge": 6.6752, "g6.48xlarge": 13.3504,
    "g6e.xlarge": 1.861, "g6e.2xlarge": 2.24208, "g6e.4xlarge": 3.00424, "g6e.8xlarge": 4.52856,
    "g6e.12xlarge": 10.49264, "g6e.16xlarge": 7.57719, "g6e.24xlarge": 15.06559, "g6e.48xlarge": 30.13118,
    "g5g.xlarge": 0.42, "g5g.2xlarge": 0.556, "g5g.4xlarge": 0.828, "g5g.8xlarge": 1.372, "g5g.16xlarge": 2.744,
    "p4d.24xlarge": 32.7726, "p5.48xlarge": 98.32,
}
# Marketed gigabytes; the driver shows a few per cent less.
NOMINAL_VRAM = {"T4": 16, "A10G": 24, "L4": 24, "L40S": 48, "T4g": 16, "V100": 16, "A100": 40, "H100": 80}


def aws_unit(size):
    """AWS's own size arithmetic: a large is 4 units, an xlarge 8, an Nxlarge 8 N."""
    small = {"nano": 0.25, "micro": 0.5, "small": 1, "medium": 2, "large": 4, "xlarge": 8}
    return small.get(size) or (8 * int(size[: -len("xlarge")]) if size.endswith("xlarge") else None)


def aws():
    hardware = package_data("moto", "ec2/resources/instance_types.json.gz")
    prices = package_data("libcloud", "data/pricing.json")["compute"]["ec2_linux"]

    def add(name, category, by_region, source, gpu=("", 0, 0)):
        facts = hardware[name]
        machine = next(a for a in facts["ProcessorInfo"]["SupportedArchitectures"] if a != "i386")
        row("aws", name, name.split(".")[0], category, machine, facts["VCpuInfo"]["DefaultVCpus"],
            facts["MemoryInfo"]["SizeInMiB"], by_region, "USD", "2025-03", source, gpu)

    for category, families in AWS_FAMILIES.items():
        for family in families.split():
            sizes = [n for n in hardware if n.startswith(family + ".") and aws_unit(n.split(".")[1])]
            lowest = {}
            for region in ("us-east-1", "eu-west-1"):
                known = [prices[n][region] / aws_unit(n.split(".")[1]) for n in sizes if prices.get(n, {}).get(region)]
                if len(known) >= 2:
                    lowest[region] = min(known)
            for name in sorted(sizes, key=lambda n: aws_unit(n.split(".")[1])):
                if lowest:
                    unit = aws_unit(name.split(".")[1])
                    add(name, category, {r: p * unit for r, p in lowest.items()}, PACKAGED)
    for name, price in AWS_GPU_PRICES.items():
        gpu = hardware[name]["GpuInfo"]["Gpus"][0]
        add(name, "gpu", {"us-east-1": price}, HARDWARE_LISTED, (gpu["Name"], gpu["Count"], NOMINAL_VRAM[gpu["Name"]]))
    for name, vcpus, gib, gpu, price in (
        ("p3.2xlarge", 8, 61, ("V100", 1, 16), 3.06), ("p3.8xlarge", 32, 244, ("V100", 4, 16), 12.24),
        ("p3.16xlarge", 64, 488, ("V100", 8, 16), 24.48), ("p3dn.24xlarge", 96, 768, ("V100", 8, 32), 31.212)):
        row("aws", name, name.split(".")[0], "gpu", "x86_64", vcpus, gib * GIB, {"us-east-1": price}, "USD", "2025", LISTED,
            gpu)


def gcp():
    prices = package_data("libcloud", "data/pricing.json")["compute"]["gce_instances"]
    shapes = {"standard": 4, "highmem": 8, "highcpu": 1}
    sizes = {
        "e2": {"standard": (2, 4, 8, 16, 32), "highmem": (2, 4, 8, 16), "highcpu": (2, 4, 8, 16, 32)},
        "n1": {"standard": (1, 2, 4, 8, 16, 32, 64, 96), "highmem": (2, 4, 8, 16, 32, 64, 96),
               "highcpu": (2, 4, 8, 16, 32, 64, 96)},
        "n2": {"standard": (2, 4, 8, 16, 32, 48, 64, 80, 96, 128), "highmem": (2, 4, 8, 16, 32, 48, 64, 80, 96, 128),
               "highcpu": (2, 4, 8, 16, 32, 48, 64, 80, 96)},
        "n2d": {"standard": (2, 4, 8, 16, 32, 48, 64, 80, 96, 128, 224), "highmem": (2, 4, 8, 16, 32, 48, 64, 80, 96),
                "highcpu": (2, 4, 8, 16, 32, 48, 64, 80, 96, 128, 224)},
        "c2": {"standard": (4, 8, 16, 30, 60)},
    }
    category_of = {"standard": "general", "highmem": "memory", "highcpu": "compute"}
    for family, shapes_of in sizes.items():
        for shape, cores in shapes_of.items():
            per_core = shapes[shape]
            if family == "n1":
                per_core = {"standard": 3.75, "highmem": 6.5, "highcpu": 0.9}[shape]
            for count in cores:
                gib = count * per_core
                if family == "n2" and shape == "highmem" and count == 128:
                    gib = 864
                by_region = {}
                for region in ("us-central1", "europe-west1"):
                    cpu, ram = (prices[family][part]["on_demand"].get(region, {}).get("price") for part in ("cpu", "ram"))
                    if cpu and ram:
                        by_region[region] = cpu * count + ram * gib
                category = "compute" if family == "c2" else category_of[shape]
                row("gcp", f"{family}-{shape}-{count}", f"{family}-{shape}", category, "x86_64", count,
                    round(gib * GIB), by_region, "USD", "2025-03", GCE_PARTS)
    for name, vcpus, mib, price in (("e2-micro", 2, 1024, 0.008376), ("e2-small", 2, 2048, 0.016751),
                                    ("e2-medium", 2, 4096, 0.033503)):
        row("gcp", name, "e2-shared", "burstable", "x86_64", vcpus, mib, {"us-central1": price}, "USD", "2025", LISTED)
    for count in (1, 2, 4, 8, 16, 32, 48, 60):
        row("gcp", f"t2d-standard-{count}", "t2d-standard", "general", "x86_64", count, count * 4 * GIB,
            {"us-central1": count * (0.027502 + 4 * 0.003686)}, "USD", "2025", LISTED)
    for count in (1, 2, 4, 8, 16, 32, 48):
        row("gcp", f"t2a-standard-{count}", "t2a-standard", "general", "arm64", count, count * 4 * GIB,
            {"us-central1": count * 0.0385}, "USD", "2025", LISTED)
    for shape, per_core in (("standard", 4), ("highmem", 8), ("highcpu", 2)):
        for count in (2, 4, 8, 16, 32, 56, 112):
            row("gcp", f"c2d-{shape}-{count}", f"c2d-{shape}", "memory" if shape == "highmem" else "compute", "x86_64",
                count, count * per_core * GIB, {"us-central1": count * (0.029563 + per_core * 0.003959)}, "USD", "2025",
                LISTED)
    for name, vcpus, gib, count, price in (
        ("g2-standard-4", 4, 16, 1, 0.706832), ("g2-standard-8", 8, 32, 1, 0.853624),
        ("g2-standard-12", 12, 48, 1, 1.000416), ("g2-standard-16", 16, 64, 1, 1.147208),
        ("g2-standard-24", 24, 96, 2, 2.000832), ("g2-standard-32", 32, 128, 1, 1.734377),
        ("g2-standard-48", 48, 192, 4, 4.001664), ("g2-standard-96", 96, 384, 8, 8.003328)):
        row("gcp", name, "g2-standard", "gpu", "x86_64", vcpus, gib * GIB, {"us-central1": price}, "USD", "2025", LISTED,
            ("L4", count, 24))
    for count in (1, 2, 4, 8):
        row("gcp", f"a2-highgpu-{count}g", "a2-highgpu", "gpu", "x86_64", 12 * count, 85 * count * GIB,
            {"us-central1": 3.673385 * count}, "USD", "2025", LISTED, ("A100", count, 40))
        row("gcp", f"a2-ultragpu-{count}g", "a2-ultragpu", "gpu", "x86_64", 12 * count, 170 * count * GIB,
            {"us-central1": 5.068799 * count}, "USD", "2025", LISTED, ("A100", count, 80))
    row("gcp", "a2-megagpu-16g", "a2-megagpu", "gpu", "x86_64", 96, 1360 * GIB, {"us-central1": 55.739505}, "USD",
        "2025", LISTED, ("A100", 16, 40))
    row("gcp", "a3-highgpu-8g", "a3-highgpu", "gpu", "x86_64", 208, 1872 * GIB, {"us-central1": 88.49}, "USD", "2025",
        LISTED, ("H100", 8, 80))


def azure():
    prices = package_data("libcloud", "data/pricing.json")["compute"]["azure_linux"]

    def packaged(name, family, category, vcpus, gib, gpu=("", 0, 0)):
        key = "standard" + name.removeprefix("Standard_").replace("_", "").lower()
        by_region = {r: prices[key][r] for r in ("eastus", "westeurope") if prices.get(key, {}).get(r)}
        if by_region:
            row("azure", name, family, category, "x86_64", vcpus, round(gib * GIB), by_region, "USD", "2025-03", AZURE_SIZES,
                gpu)

    wide = (2, 4, 8, 16, 32, 48, 64)
    for family, category, per_core, sizes in (
        ("D{}s_v3", "general", 4, wide), ("D{}s_v4", "general", 4, wide), ("D{}ds_v4", "general", 4, wide),
        ("D{}as_v4", "general", 4, wide + (96,)), ("F{}s_v2", "compute", 2, (2, 4, 8, 16, 32, 48, 64, 72)),
        ("E{}s_v3", "memory", 8, (2, 4, 8, 16, 20, 32)), ("E{}s_v4", "memory", 8, (2, 4, 8, 16, 20, 32)),
        ("E{}ds_v4", "memory", 8, (2, 4, 8, 16, 20, 32)), ("E{}as_v4", "memory", 8, (2, 4, 8, 16, 20, 32)),
        ("L{}s_v2", "storage", 8, (8, 16, 32, 48, 64, 80)),
    ):
        for count in sizes:
            packaged("Standard_" + family.format(count), family.replace("{}", ""), category, count, count * per_core)
    for name, vcpus, gib in (("B1s", 1, 1), ("B1ms", 1, 2), ("B2s", 2, 4), ("B2ms", 2, 8), ("B4ms", 4, 16),
                             ("B8ms", 8, 32), ("B12ms", 12, 48), ("B16ms", 16, 64), ("B20ms", 20, 80)):
        packaged("Standard_" + name, "B", "burstable", vcpus, gib)
    for name, vcpus, gib in (("M64s", 64, 1024), ("M64ms", 64, 1792), ("M128s", 128, 2048), ("M128ms", 128, 3892)):
        packaged("Standard_" + name, "M", "memory", vcpus, gib)
    for name, vcpus, gib, count in (("NC6s_v3", 6, 112, 1), ("NC12s_v3", 12, 224, 2), ("NC24s_v3", 24, 448, 4)):
        packaged("Standard_" + name, "NCs_v3", "gpu", vcpus, gib, ("V100", count, 16))
    packaged("Standard_ND40rs_v2", "NDrs_v2", "gpu", 40, 672, ("V100", 8, 32))
    # Version 5: eastus list prices per vCPU.
    for family, category, arch, per_core, price, sizes in (
        ("D{}s_v5", "general", "x86_64", 4, 0.048, wide + (96,)), ("D{}ds_v5", "general", "x86_64", 4, 0.0565, wide + (96,)),
        ("D{}as_v5", "general", "x86_64", 4, 0.043, wide + (96,)), ("D{}ads_v5", "general", "x86_64", 4, 0.0515, wide + (96,)),
        ("D{}ps_v5", "general", "arm64", 4, 0.0385, (2, 4, 8, 16, 32, 48, 64)),
        ("E{}s_v5", "memory", "x86_64", 8, 0.063, (2, 4, 8, 16, 20, 32, 48, 64)),
        ("E{}ds_v5", "memory", "x86_64", 8, 0.072, (2, 4, 8, 16, 20, 32, 48, 64)),
        ("E{}as_v5", "memory", "x86_64", 8, 0.0565, (2, 4, 8, 16, 20, 32, 48, 64)),
        ("E{}ps_v5", "memory", "arm64", 8, 0.0505, (2, 4, 8, 16, 20)),
    ):
        for count in sizes:
            gib = 208 if (family, count) == ("D{}ps_v5", 64) else count * per_core
            row("azure", "Standard_" + family.format(count), family.replace("{}", ""), category, arch, count, gib * GIB,
                {"eastus": price * count}, "USD", "2025", LISTED)
    for name, family, vcpus, gib, gpu, price in (
        ("NC4as_T4_v3", "NCas_T4_v3", 4, 28, ("T4", 1, 16), 0.526), ("NC8as_T4_v3", "NCas_T4_v3", 8, 56, ("T4", 1, 16), 0.752),
        ("NC16as_T4_v3", "NCas_T4_v3", 16, 110, ("T4", 1, 16), 1.204),
        ("NC64as_T4_v3", "NCas_T4_v3", 64, 440, ("T4", 4, 16), 4.352),
        ("NC24ads_A100_v4", "NCads_A100_v4", 24, 220, ("A100", 1, 80), 3.673),
        ("NC48ads_A100_v4", "NCads_A100_v4", 48, 440, ("A100", 2, 80), 7.346),
        ("NC96ads_A100_v4", "NCads_A100_v4", 96, 880, ("A100", 4, 80), 14.692),
        ("ND96asr_v4", "NDasr_v4", 96, 900, ("A100", 8, 40), 27.197),
        ("ND96amsr_A100_v4", "NDamsr_A100_v4", 96, 1900, ("A100", 8, 80), 32.77),
        ("NC40ads_H100_v5", "NCads_H100_v5", 40, 320, ("H100", 1, 94), 6.98),
        ("NC80adis_H100_v5", "NCads_H100_v5", 80, 640, ("H100", 2, 94), 13.96),
        ("ND96isr_H100_v5", "NDisr_H100_v5", 96, 1900, ("H100", 8, 80), 98.32),
        ("NV36ads_A10_v5", "NVads_A10_v5", 36, 440, ("A10", 1, 24), 3.2),
        ("NV72ads_A10_v5", "NVads_A10_v5", 72, 880, ("A10", 2, 24), 6.52),
    ):
        row("azure", "Standard_" + name, family, "gpu", "x86_64", vcpus, gib * GIB, {"eastus": price}, "USD", "2025", LISTED, gpu)


def hetzner():
    """Net monthly prices without a public IPv4 address; an hour is a 624th of the month there."""
    for name, family, category, arch, vcpus, gib, month in (
        ("cx22", "cx", "general", "x86_64", 2, 4, 3.29), ("cx32", "cx", "general", "x86_64", 4, 8, 6.30),
        ("cx42", "cx", "general", "x86_64", 8, 16, 15.90), ("cx52", "cx", "general", "x86_64", 16, 32, 31.90),
        ("cpx11", "cpx", "general", "x86_64", 2, 2, 3.85), ("cpx21", "cpx", "general", "x86_64", 3, 4, 7.05),
        ("cpx31", "cpx", "general", "x86_64", 4, 8, 13.10), ("cpx41", "cpx", "general", "x86_64", 8, 16, 24.70),
        ("cpx51", "cpx", "general", "x86_64", 16, 32, 54.40),
        ("cax11", "cax", "general", "arm64", 2, 4, 3.29), ("cax21", "cax", "general", "arm64", 4, 8, 5.99),
        ("cax31", "cax", "general", "arm64", 8, 16, 11.99), ("cax41", "cax", "general", "arm64", 16, 32, 23.99),
        ("ccx13", "ccx", "general", "x86_64", 2, 8, 11.99), ("ccx23", "ccx", "general", "x86_64", 4, 16, 23.99),
        ("ccx33", "ccx", "general", "x86_64", 8, 32, 47.99), ("ccx43", "ccx", "general", "x86_64", 16, 64, 95.99),
        ("ccx53", "ccx", "general", "x86_64", 32, 128, 191.99), ("ccx63", "ccx", "general", "x86_64", 48, 192, 287.99),
    ):
        row("hetzner", name, family, category, arch, vcpus, gib * GIB, {"fsn1": round(month / 624, 4)}, "EUR", "2025", LISTED)


def ovh():
    def add(name, family, category, vcpus, gib, price, gpu=("", 0, 0), when=("2025", LISTED)):
        row("ovh", name, family, category, "x86_64", vcpus, gib * GIB, {"GRA": price}, "EUR", *when, gpu)

    recent, roughly = ("2026-07", LISTED_2026), ("2025", APPROXIMATE)

    for count in (2, 4, 8, 16, 32, 64, 128, 160):
        add(f"b3-{count * 4}", "b3", "general", count, count * 4, 0.02558 * count, when=recent)
        add(f"c3-{count * 2}", "c3", "compute", count, count * 2, 0.02282 * count, when=recent)
        if count <= 64:
            add(f"r3-{count * 8}", "r3", "memory", count, count * 8, 0.0295 * count, when=roughly)
    for gib, vcpus, price in ((7, 2, 0.0681), (15, 4, 0.1301), (30, 8, 0.2601), (60, 16, 0.5061), (120, 32, 0.9931)):
        add(f"b2-{gib}", "b2", "general", vcpus, gib, price)
    for gib, vcpus, price in ((2, 1, 0.0081), (4, 2, 0.0161), (8, 4, 0.0321)):
        add(f"d2-{gib}", "d2", "burstable", vcpus, gib, price, when=roughly)
    for family, model, vram, vcpus, gib, price, counts in (
        ("l4", "L4", 24, 22, 90, 0.75, (1, 2, 4)), ("l40s", "L40S", 48, 15, 90, 1.40, (1, 2, 4)),
        ("a10", "A10", 24, 30, 45, 0.76, (1, 2, 4)), ("a100", "A100", 80, 15, 180, 2.75, (1, 2, 4)),
        ("h100", "H100", 80, 30, 380, 2.80, (1, 2, 4)), ("t1-le", "V100", 16, 4, 45, 0.70, (1, 2, 4)),
        ("t2-le", "V100S", 32, 15, 45, 0.80, (1, 2, 4)),
    ):
        for count in counts:
            cores = {("l4", 2): 45, ("l4", 4): 90}.get((family, count), vcpus * count)
            if family == "t1-le":
                cores = 8 * count
            add(f"{family}-{gib * count}", family, "gpu", cores, gib * count, price * count, (model, count, vram),
                recent if family.endswith("-le") else ("2025", LISTED))
    for count in (1, 2, 3):
        add(f"rtx5000-{28 * count}", "rtx5000", "gpu", 4 * count, 28 * count, 0.36 * count, ("RTX5000", count, 16), recent)


def upcloud():
    """Monthly prices; an hour is a 672nd of the month there."""
    def add(name, family, category, vcpus, gib, month, source=APPROXIMATE):
        row("upcloud", name, family, category, "x86_64", vcpus, gib * GIB, {"fi-hel1": round(month / 672, 4)}, "EUR",
            "2025", source)

    for vcpus, gib, month in ((1, 1, 7), (1, 2, 13), (2, 4, 26), (4, 8, 52), (6, 16, 96), (8, 32, 192), (12, 48, 288),
                              (16, 64, 384), (20, 96, 570), (20, 128, 755)):
        add(f"{vcpus}xCPU-{gib}GB", "general", "general", vcpus, gib, month, LISTED if vcpus < 20 else APPROXIMATE)
    for vcpus, gib, month in ((2, 8, 40), (2, 16, 65), (4, 32, 132), (4, 64, 240), (6, 128, 480), (8, 192, 840),
                              (12, 256, 1080), (16, 384, 1680)):
        add(f"HIMEM-{vcpus}xCPU-{gib}GB", "himem", "memory", vcpus, gib, month)
    for vcpus, gib, month in ((8, 12, 130), (8, 16, 160), (16, 24, 260), (16, 32, 310), (32, 48, 530), (32, 64, 620),
                              (64, 96, 1056), (64, 128, 1248)):
        add(f"HICPU-{vcpus}xCPU-{gib}GB", "hicpu", "compute", vcpus, gib, month)


def vultr():
    """Monthly prices; an hour is a 730th of the month."""
    def add(name, family, category, vcpus, gib, month, gpu=("", 0, 0), hour=None):
        row("vultr", name, family, category, "x86_64", vcpus, gib * GIB, {"ewr": hour or round(month / 730, 4)}, "USD",
            "2025", APPROXIMATE if hour else LISTED, gpu)

    for vcpus, gib, month in ((1, 1, 5), (1, 2, 10), (2, 2, 15), (2, 4, 20), (4, 8, 40), (6, 16, 80), (8, 32, 160),
                              (16, 64, 320), (24, 96, 640)):
        add(f"vc2-{vcpus}c-{gib}gb", "vc2", "general", vcpus, gib, month)
    for vcpus, gib, month in ((1, 1, 6), (1, 2, 12), (2, 2, 18), (2, 4, 24), (3, 8, 48), (4, 16, 96), (6, 24, 144),
                              (8, 32, 192), (12, 48, 256), (16, 58, 320)):
        add(f"vhf-{vcpus}c-{gib}gb", "vhf", "general", vcpus, gib, month)
    for maker in ("amd", "intel"):
        for vcpus, gib, month in ((1, 1, 6), (1, 2, 12), (2, 2, 18), (2, 4, 24), (4, 8, 48), (4, 12, 72), (8, 16, 96),
                                  (12, 24, 144)):
            add(f"vhp-{vcpus}c-{gib}gb-{maker}", "vhp", "general", vcpus, gib, month)
    for vcpus, disk in ((1, 30), (2, 50), (4, 80), (8, 160), (16, 320), (24, 480), (32, 640), (40, 768)):
        add(f"voc-g-{vcpus}c-{vcpus * 4}gb-{disk}s-amd", "voc-g", "general", vcpus, vcpus * 4, vcpus * 30)
    for vcpus, gib, disk, month in ((1, 2, 25, 28), (2, 4, 50, 40), (4, 8, 75, 80), (8, 16, 150, 160), (16, 32, 300, 320),
                                    (32, 64, 500, 640)):
        add(f"voc-c-{vcpus}c-{gib}gb-{disk}s-amd", "voc-c", "compute", vcpus, gib, month)
    for vcpus, disk in ((1, 50), (2, 100), (4, 200), (8, 400), (16, 800), (24, 1200), (32, 1600)):
        add(f"voc-m-{vcpus}c-{vcpus * 8}gb-{disk}s-amd", "voc-m", "memory", vcpus, vcpus * 8, vcpus * 40)
    add("vcg-a16-6c-64gb-16vram", "vcg-a16", "gpu", 6, 64, 0, ("A16", 1, 16), 0.512)
    add("vcg-a40-24c-120gb-48vram", "vcg-a40", "gpu", 24, 120, 0, ("A40", 1, 48), 1.712)
    add("vcg-l40s-16c-180gb-48vram", "vcg-l40s", "gpu", 16, 180, 0, ("L40S", 1, 48), 1.671)
    add("vcg-a100-12c-120gb-80vram", "vcg-a100", "gpu", 12, 120, 0, ("A100", 1, 80), 2.397)


def alibaba():
    sizes = (("large", 2), ("xlarge", 4), ("2xlarge", 8), ("3xlarge", 12), ("4xlarge", 16), ("6xlarge", 24),
             ("8xlarge", 32), ("16xlarge", 64))
    # cn-hangzhou, pay as you go, per vCPU.
    for family, category, arch, per_core, price in (
        ("c6", "compute", "x86_64", 2, 0.195), ("g6", "general", "x86_64", 4, 0.25), ("r6", "memory", "x86_64", 8, 0.33),
        ("c7", "compute", "x86_64", 2, 0.235), ("g7", "general", "x86_64", 4, 0.30), ("r7", "memory", "x86_64", 8, 0.395),
    ):
        for size, vcpus in sizes:
            row("alibaba", f"ecs.{family}.{size}", family, category, arch, vcpus, vcpus * per_core * GIB,
                {"cn-hangzhou": round(price * vcpus, 4)}, "CNY", "2025", APPROXIMATE)
    for name, vcpus, gib, gpu, price in (
        ("gn6i-c4g1.xlarge", 4, 15, ("T4", 1, 16), 11.63), ("gn6i-c8g1.2xlarge", 8, 31, ("T4", 1, 16), 14.0),
        ("gn6i-c16g1.4xlarge", 16, 62, ("T4", 1, 16), 16.41), ("gn6i-c24g1.6xlarge", 24, 93, ("T4", 1, 16), 17.19),
        ("gn6v-c8g1.2xlarge", 8, 32, ("V100", 1, 16), 26.46), ("gn6v-c8g1.8xlarge", 32, 128, ("V100", 4, 16), 105.84),
        ("gn6v-c8g1.16xlarge", 64, 256, ("V100", 8, 16), 211.68),
    ):
        row("alibaba", "ecs." + name, name.split("-")[0], "gpu", "x86_64", vcpus, gib * GIB, {"cn-hangzhou": price}, "CNY",
            "2025", APPROXIMATE, gpu)


def digitalocean():
    """Monthly prices; an hour is a 672nd of the month there."""
    def add(name, family, category, vcpus, gib, month):
        row("digitalocean", name, family, category, "x86_64", vcpus, gib * GIB, {"nyc3": round(month / 672, 5)}, "USD",
            "2025", LISTED)

    for vcpus, gib, month in ((1, 1, 6), (1, 2, 12), (2, 2, 18), (2, 4, 24), (4, 8, 48), (8, 16, 96)):
        add(f"s-{vcpus}vcpu-{gib}gb", "s", "burstable", vcpus, gib, month)
    for vcpus in (2, 4, 8, 16, 32, 40):
        add(f"g-{vcpus}vcpu-{vcpus * 4}gb", "g", "general", vcpus, vcpus * 4, vcpus * 31.5)
    for vcpus in (2, 4, 8, 16, 32):
        add(f"c-{vcpus}", "c", "compute", vcpus, vcpus * 2, vcpus * 21)
    for vcpus in (2, 4, 8, 16, 24, 32):
        add(f"m-{vcpus}vcpu-{vcpus * 8}gb", "m", "memory", vcpus, vcpus * 8, vcpus * 42)


def main():
    for vendor in (aws, gcp, azure, hetzner, ovh, upcloud, vultr, alibaba, digitalocean):
        vendor()
    out = sys.stdout
    out.write("# Server types with on-demand Linux prices per hour. Compiled by tools/build_catalogue.py.\n")
    for key, text in sorted(SOURCES.items()):
        out.write(f"# source {key} = {text}\n")
    out.write("vendor,type,family,category,arch,vcpus,memory_mib,gpu_model,gpu_count,vram_mib,prices,currency,as_of,source\n")
    for fields in rows:
        out.write(",".join(str(field) for field in fields) + "\n")


if __name__ == "__main__":
    main()
