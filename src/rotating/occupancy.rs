//! [`Occupancy`]: what the set bits of the live windows tell, window by window.
//!
//! A window is a filter of lines like any other: a histogram for each line of a key, whose rates are multiplied.

use super::slots::Slots;
use crate::bits::Words;
use crate::kernel::PlaneLayout;
use crate::rate::Histogram;

/// A window's histograms, one for each line of a key.
#[derive(Clone, Debug)]
struct Window {
    age: u32,
    plane: u32,
    parts: Vec<Histogram>,
}

/// What fills a filter.
#[derive(Clone, Debug)]
pub(super) struct Occupancy {
    k: u32,
    windows: Vec<Window>,
}

impl Occupancy {
    pub(super) fn of(layout: PlaneLayout, slots: Slots, lines: &[impl Words]) -> Self {
        let (positions, ones) = (layout.positions(), layout.spread(1));
        let (front, back) = layout.lines().parts(lines);
        let parts: Vec<_> = [front, back].into_iter().filter(|part| !part.is_empty()).collect();
        let plane = |age| slots.of_age(age).expect("an age that was listed has a plane");
        let empty = |age| Window { age, plane: plane(age), parts: vec![Histogram::new(positions); parts.len()] };
        let mut windows: Vec<_> = slots.ages().map(empty).collect();
        for (part, lines) in parts.into_iter().enumerate() {
            for line in lines {
                let words = line.words();
                for window in &mut windows {
                    let set: u32 = words.iter().map(|word| (word >> window.plane & ones).count_ones()).sum();
                    window.parts[part].add(set);
                }
            }
        }
        Self { k: layout.lines().k(), windows }
    }

    /// The share of positions that are set, over `windows` windows.
    pub(super) fn fill_ratio(&self, windows: u32) -> f64 {
        let of = |window: &Window| window.parts.iter().map(Histogram::fill_ratio).sum::<f64>() / window.parts.len() as f64;
        self.windows.iter().map(of).sum::<f64>() / f64::from(windows)
    }

    /// 1 − Π (1 − r) over the windows' rates r.
    pub(super) fn fpr(&self) -> f64 {
        let rate = |window: &Window| window.parts.iter().map(|part| part.rate(self.k)).product::<f64>();
        1.0 - self.windows.iter().map(|window| 1.0 - rate(window)).product::<f64>()
    }

    /// Distinct keys of the window of this age.
    pub(super) fn len_of(&self, age: u32) -> u64 {
        self.windows.iter().find(|window| window.age == age).map_or(0, |window| self.len_in(window))
    }

    /// The sum over windows.
    pub(super) fn len(&self) -> u64 {
        self.windows.iter().map(|window| self.len_in(window)).sum()
    }

    fn len_in(&self, window: &Window) -> u64 {
        (window.parts.iter().map(|part| part.keys(self.k)).sum::<f64>() / window.parts.len() as f64).round() as u64
    }
}
