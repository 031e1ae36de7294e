//! Golden hashes: what a few keys hash to, for ever.
//!
//! **A change here makes every stored filter deny keys that are in it.** Such a change is a new hasher number or format version, not an edit. The
//! values come from other implementations: XXH3 from the reference library's Python binding (`xxh3_128_intdigest`), SipHash-1-3-128 from one that
//! was written after the paper and reproduces its authors' 2-4 test vector.

use super::{KeyHash, KeyHasher};

type Parts = (u64, u64);

fn parts(hash: KeyHash) -> Parts {
    (hash.first(), hash.second())
}

fn check(hasher: KeyHasher, golden: [Parts; 5], fingerprint: &str) {
    let long = [b'x'; 300];
    let hashes = [hasher.hash(""), hasher.hash(&5u8), hasher.hash("user:1"), hasher.hash(&long), hasher.hash(&("a", 1u8))];
    assert_eq!(hashes.map(parts), golden);
    assert_eq!(hasher.fingerprint().to_string(), fingerprint);
}

#[test]
fn golden_xxh3() {
    let golden = [
        (0x6001_c324_468d_497f, 0x99aa_06d3_0147_98d8),
        (0x64b5_c1b2_8fbe_6b34, 0xbece_7561_abd0_b38b),
        (0x568d_c3fb_b502_3b0c, 0xb3ce_4d64_2bd8_6c75),
        (0xa5d1_b460_7dc8_3554, 0x1252_37ea_2ad7_bc7a),
        (0x6f26_a313_d0b3_611f, 0xe575_6418_5f27_bce1),
    ];
    check(KeyHasher::xxh3(0), golden, "Xxh3:94a8f346");
    let golden = [
        (0x4ca5_1769_9817_1787, 0xd142_977a_2cca_554b),
        (0x629c_cc97_c359_2cee, 0x0ffc_f5b0_d0d3_2166),
        (0xf893_7f12_0ad2_5412, 0x9b48_27fb_4f64_92a2),
        (0xd7aa_4e08_1cbf_1f58, 0xe717_7ef0_73ab_29e2),
        (0x7516_3b35_5d61_4280, 0x62d1_fc9e_6e70_e131),
    ];
    check(KeyHasher::xxh3(0x9e37_79b9_7f4a_7c15), golden, "Xxh3:8bb2e40d");
}

#[test]
fn golden_siphash() {
    let golden = [
        (0x2134_935d_61d9_b40d, 0xb91c_5ed0_31fb_3303),
        (0x4720_62ff_2fae_e3ff, 0x8859_5ccd_c0f9_bce3),
        (0x11b6_abfc_705e_10b5, 0xd333_0625_b98d_b4c2),
        (0x37b2_eff1_19d7_2c8c, 0x24b2_c12f_58fe_47ee),
        (0xc3ed_18bf_6aa4_06b1, 0x8ac0_985e_72d9_c137),
    ];
    check(KeyHasher::siphash([0; 16]), golden, "SipHash13:ecf06ef3");
    let golden = [
        (0xbea5_8827_b2bc_7ee7, 0x0130_30dd_6adb_62fd),
        (0x3d39_92ff_fce2_2d8b, 0x5b38_c33d_d6f2_4b3f),
        (0x32d9_b116_1a89_e3a8, 0x3515_9ad9_8620_fb8b),
        (0x430e_6a1b_9ca5_544e, 0xf9b1_32bb_1d28_b14d),
        (0xbe68_4c68_204c_0ef3, 0x84a4_b584_3f5a_8821),
    ];
    check(KeyHasher::siphash(std::array::from_fn(|index| index as u8)), golden, "SipHash13:5a8eaf81");
}
