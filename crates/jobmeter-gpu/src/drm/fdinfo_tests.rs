use super::*;

const AMDGPU: &str = "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t1088\ndrm-driver:\tamdgpu\ndrm-client-id:\t28\n\
    drm-pdev:\t0000:03:00.0\npasid:\t32773\ndrm-memory-vram:\t2048 KiB\ndrm-memory-gtt: \t512 KiB\n\
    drm-memory-cpu: \t0 KiB\namd-memory-visible-vram:\t64 KiB\ndrm-engine-gfx:\t1234567 ns\n\
    drm-engine-compute:\t99 ns\ndrm-engine-dec:\t0 ns\n";

const XE: &str = "pos:\t0\nflags:\t0100002\nmnt_id:\t26\nino:\t685\ndrm-driver:\txe\ndrm-client-id:\t3\n\
    drm-pdev:\t0000:03:00.0\ndrm-total-system:\t0\ndrm-resident-system:\t0\ndrm-total-gtt:\t192 KiB\n\
    drm-resident-gtt:\t192 KiB\ndrm-total-vram0:\t23992 KiB\ndrm-shared-vram0:\t16 MiB\n\
    drm-resident-vram0:\t20000 KiB\ndrm-cycles-rcs:\t28257900\ndrm-total-cycles-rcs:\t7655183225\n\
    drm-cycles-ccs:\t10\ndrm-total-cycles-ccs:\t7655183225\ndrm-engine-capacity-ccs:\t4\n";

const I915: &str = "pos:\t0\ndrm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\ndrm-client-id:\t7\n\
    drm-engine-render:\t25662044495 ns\ndrm-engine-copy:\t0 ns\ndrm-engine-video:\t8 ns\n\
    drm-engine-capacity-video:\t2\ndrm-total-system0:\t8 MiB\ndrm-resident-system0:\t6 MiB\n\
    drm-total-stolen-system0:\t1 MiB\ndrm-resident-stolen-system0:\t1 MiB\n";

#[test]
fn amdgpu_counts_nanoseconds_and_vram() {
    let info = parse(AMDGPU).unwrap();
    assert_eq!(
        (info.driver.as_str(), info.pdev.as_str(), info.client),
        ("amdgpu", "0000:03:00.0", Some(ClientId::Client(28)))
    );
    assert_eq!(info.memory_bytes, Some(2048 * 1024));
    assert_eq!(info.engines[0].busy, Busy::Nanos(1_234_567));
    assert_eq!(info.engines.len(), 3);
}

#[test]
fn xe_counts_cycles_and_resident_vram() {
    let info = parse(XE).unwrap();
    assert_eq!(info.memory_bytes, Some(20_000 * 1024));
    assert_eq!(info.engines[0].busy, Busy::Cycles(28_257_900, 7_655_183_225));
    assert_eq!((info.engines[1].class.as_str(), info.engines[1].capacity), ("ccs", 4));
}

#[test]
fn an_integrated_i915_counts_the_system_memory_it_holds() {
    let info = parse(I915).unwrap();
    assert_eq!(info.memory_bytes, Some(7 << 20));
    assert_eq!(info.engines[2], Engine { class: "video".into(), busy: Busy::Nanos(8), capacity: 2 });
}

#[test]
fn odd_texts_are_no_client_and_never_panic() {
    for text in ["", "pos:\t0\n", "pasid:\t1\n", "pdev:\t0\npasid:\tx\nvram mem:\t1 kB\n", ":::\n\0"] {
        assert_eq!(parse(text), None, "{text:?}");
    }
    for text in ["drm-client-id:\t\n", "drm-driver:\tx\n", "drm-client-id: -3"] {
        assert_eq!(parse(text).unwrap().client, None, "{text:?}");
    }
    let odd = "drm-client-id: 1\ndrm-engine-: x\ndrm-engine-gfx: 99999999999999999999999 ns\ndrm-total-: 7\n\
        drm-memory-vram: 18446744073709551615 GiB\ndrm-engine-capacity-gfx: 0\n";
    let info = parse(odd).unwrap();
    assert_eq!(info.client, Some(ClientId::Client(1)));
    assert!(info.engines.is_empty(), "what cannot be read is not 0");
}

#[test]
fn amdgpu_before_the_common_keys_tells_memory_and_no_use() {
    let text = "pos:\t0\nflags:\t02100002\nmnt_id:\t26\npdev:\t0000:03:00.0\npasid:\t32771\nvram mem:\t2048 kB\n\
        gtt mem:\t512 kB\ncpu mem:\t0 kB\ngfx0:\t12.34%\n";
    let info = parse(text).unwrap();
    assert_eq!((info.client, info.pdev.as_str()), (Some(ClientId::Pasid(32771)), "0000:03:00.0"));
    assert_eq!((info.memory_bytes, info.gtt_bytes), (Some(2 << 20), Some(512 << 10)));
    assert!(info.engines.is_empty());
}

#[test]
fn cycles_count_only_beside_those_that_have_passed() {
    let alone = "drm-client-id:\t1\ndrm-cycles-rcs:\t5\n";
    assert!(parse(alone).unwrap().engines.is_empty());
    // panfrost: the time is what counts.
    let both = "drm-client-id:\t1\ndrm-engine-fragment:\t77 ns\ndrm-cycles-fragment:\t900\ndrm-maxfreq-fragment:\t1 Hz\n";
    assert_eq!(parse(both).unwrap().engines[0].busy, Busy::Nanos(77));
}
