//! Says what the tests ran on, and fails where that is not what a job was named after.
//!
//! A job called "32-bit" or "big-endian" whose tests ran on the host proves nothing. So it sets `ABSENTIA_EXPECT_TARGET`, for example to `big-32`,
//! and only a binary that really is of that kind passes. Without the variable the test prints what it found.

#[test]
fn the_target_is_the_one_that_the_job_is_named_after() {
    let endianness = if cfg!(target_endian = "big") { "big" } else { "little" };
    let width = usize::BITS;
    // Not only what the compiler was told: what a value looks like in memory.
    assert_eq!(1u16.to_ne_bytes()[0] == 1, endianness == "little");
    assert_eq!(size_of::<*const u8>() * 8, width as usize);

    let found = format!("{endianness}-{width}");
    match std::env::var("ABSENTIA_EXPECT_TARGET") {
        Ok(expected) => assert_eq!(found, expected, "ABSENTIA_EXPECT_TARGET is {expected}, the tests ran on {found}"),
        Err(std::env::VarError::NotPresent) => println!("the tests ran on {found}"),
        Err(error) => panic!("ABSENTIA_EXPECT_TARGET: {error}"),
    }
}
