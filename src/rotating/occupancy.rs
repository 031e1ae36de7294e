//! [`Occupancy`]: what the set bits of the live windows tell, window by window.
//!
//! As for any filter of lines, the rate of a window is the mean over lines of (share set)^k, by half and multiplied where a key has two lines, and
//! the number of its keys the sum over lines of the number that would set so many positions.

use super::slots::Slots;
use crate::bits::Words;
use crate::kernel::PlaneLayout;

/// A window's histograms: how many lines have how many positions set, for each line of a key.
#[derive(Clone, Debug)]
struct Window {
    age: u32,
    plane: u32,
    parts: Vec<Vec<u64>>,
}

/// What fills a filter.
#[derive(Clone, Debug)]
pub(super) struct Occupancy {
    k: u32,
    positions: f64,
    windows: Vec<Window>,
}

impl Occupancy {
    pub(super) fn of(layout: PlaneLayout, slots: Slots, lines: &[impl Words]) -> Self {
        let (positions, ones) = (layout.positions(), layout.spread(1));
        let (front, back) = layout.lines().parts(lines);
        let parts: Vec<_> = [front, back].into_iter().filter(|part| !part.is_empty()).collect();
        let plane = |age| slots.of_age(age).expect("an age that was listed has a plane");
        let empty = |age| Window { age, plane: plane(age), parts: vec![vec![0; positions + 1]; parts.len()] };
        let mut windows: Vec<_> = slots.ages().map(empty).collect();
        for (part, lines) in parts.into_iter().enumerate() {
            for line in lines {
                let words = line.words();
                for window in &mut windows {
                    let set: u32 = words.iter().map(|word| (word >> window.plane & ones).count_ones()).sum();
                    window.parts[part][set as usize] += 1;
                }
            }
        }
        Self { k: layout.lines().k(), positions: positions as f64, windows }
    }

    /// The share of positions that are set, over `windows` windows.
    pub(super) fn fill_ratio(&self, windows: u32) -> f64 {
        let of = |window: &Window| window.parts.iter().map(|part| mean(part, |set| set / self.positions)).sum::<f64>() / window.parts.len() as f64;
        self.windows.iter().map(of).sum::<f64>() / f64::from(windows)
    }

    /// 1 − Π (1 − r) over the windows' rates r.
    pub(super) fn fpr(&self) -> f64 {
        let rate = |window: &Window| window.parts.iter().map(|part| mean(part, |set| (set / self.positions).powi(self.k as i32))).product::<f64>();
        1.0 - self.windows.iter().map(|window| 1.0 - rate(window)).product::<f64>()
    }

    /// Distinct keys of the window of this age. A full line counts as one with half a position clear.
    pub(super) fn len_of(&self, age: u32) -> u64 {
        self.windows.iter().find(|window| window.age == age).map_or(0, |window| self.len_in(window))
    }

    /// The sum over windows.
    pub(super) fn len(&self) -> u64 {
        self.windows.iter().map(|window| self.len_in(window)).sum()
    }

    fn len_in(&self, window: &Window) -> u64 {
        let keys_in_line = |set: f64| -(self.positions / f64::from(self.k)) * (-set.min(self.positions - 0.5) / self.positions).ln_1p();
        let keys = |part: &Vec<u64>| mean(part, keys_in_line) * part.iter().sum::<u64>() as f64;
        (window.parts.iter().map(keys).sum::<f64>() / window.parts.len() as f64).round() as u64
    }
}

/// The mean of `of(positions set)` over the lines of a histogram, which has some.
fn mean(lines: &[u64], of: impl Fn(f64) -> f64) -> f64 {
    let sum: f64 = lines.iter().enumerate().filter(|&(_, &lines)| lines > 0).map(|(set, &lines)| lines as f64 * of(set as f64)).sum();
    sum / lines.iter().sum::<u64>() as f64
}
