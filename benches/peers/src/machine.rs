//! What a measurement is worth nothing without: on what, when, and by which command.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where and when.
pub struct Machine {
    pub cpu: String,
    pub threads: usize,
    /// As the system writes them, with their level: "L2 1024K".
    pub caches: Vec<String>,
    pub huge_pages: String,
    pub date: String,
    pub command: String,
}

impl Machine {
    /// Of this machine; what cannot be read is "unknown".
    pub fn here() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self {
            cpu: cpu().unwrap_or_else(|| "unknown".to_string()),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            caches: caches(),
            huge_pages: huge_pages().unwrap_or_else(|| "unknown".to_string()),
            date: date(now),
            command: std::env::args().collect::<Vec<_>>().join(" "),
        }
    }

    /// A few lines for people.
    pub fn header(&self) -> String {
        let build = if cfg!(debug_assertions) { "DEBUG BUILD, figures mean nothing" } else { "release, no LTO" };
        format!(
            "{}, {} threads, {}, huge pages: {}\n{} UTC, {build}, {}\n{}",
            self.cpu,
            self.threads,
            self.caches.join(", "),
            self.huge_pages,
            self.date,
            features(),
            self.command
        )
    }
}

/// Which of the instruction sets that matter here the *build* may take for granted; kernels chosen at run time are named in their rows.
fn features() -> &'static str {
    if cfg!(target_feature = "avx512f") {
        "compiled for AVX-512"
    } else if cfg!(target_feature = "avx2") {
        "compiled for AVX2"
    } else {
        "compiled for any machine of this kind"
    }
}

/// Bytes that can be had without swapping, where the system tells.
pub fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Nanoseconds that this thread has run, and those that it stood in the queue because others ran, where the system tells. What a hypervisor gave to
/// other machines, or a sibling thread took of the core, is in neither.
pub fn run_and_wait() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let mut fields = text.split_whitespace().map(str::parse);
    Some((fields.next()?.ok()?, fields.next()?.ok()?))
}

/// The processor time of this thread, which does not pass while others have the core. What a hypervisor gave to other machines, and what a neighbour
/// does to clock and caches, is in it all the same.
pub fn thread_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn cpu() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let field = |name: &str| text.lines().find(|line| line.starts_with(name)).and_then(|line| line.split(": ").nth(1)).map(str::to_string);
    // The name alone may be no more than "AMD EPYC"; family and model tell the generation.
    Some(format!("{} (family {}, model {})", field("model name")?, field("cpu family")?, field("model\t")?))
}

fn caches() -> Vec<String> {
    let read = |index: u32, file: &str| {
        fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}")).map(|text| text.trim().to_string())
    };
    (0..8)
        .filter(|&index| read(index, "type").is_ok_and(|kind| kind != "Instruction"))
        .filter_map(|index| Some(format!("L{} {}", read(index, "level").ok()?, read(index, "size").ok()?)))
        .collect()
}

/// The word in brackets of "always [madvise] never".
fn huge_pages() -> Option<String> {
    let text = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    text.split_once('[')?.1.split_once(']').map(|(word, _)| word.to_string())
}

/// Seconds since 1970 as a date and a time, by Hinnant's *civil_from_days*.
fn date(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02}", second / 3600, second / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00");
        assert_eq!(date(951_782_400), "2000-02-29 00:00");
        assert_eq!(date(1_796_083_140), "2026-11-30 23:59");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00");
    }
}
