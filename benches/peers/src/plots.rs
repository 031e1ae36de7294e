//! The plots: ns per absent lookup by number of keys, one by one and in batches, and bits a key against the measured rate.
//!
//! Of peers with two rows the one at equal rate is drawn, so that a line means the same for all. The legend has a column of its own beside the plot,
//! in the order of the rows: two dozen lines leave no room between them.

use crate::block::{Block, Mode, Op, Row};
use crate::filter::{Compare, Family};
use plotters::coord::Shift;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use std::path::Path;

const SIZE: (u32, u32) = (1180, 640);
const LEGEND: u32 = 330;

/// A line of a plot.
struct Series {
    name: String,
    style: ShapeStyle,
    dashed: bool,
    /// A ring at each point instead of a dot.
    hollow: bool,
    points: Vec<(f64, f64)>,
}

/// Three plots: of the kind of key and the rate that come first, and of bits over all rates.
pub fn write(blocks: &[Block], directory: &Path) -> Result<(), String> {
    let Some(first) = blocks.first() else { return Ok(()) };
    let of_type: Vec<&Block> = blocks.iter().filter(|block| block.key_type == first.key_type).collect();
    let of_rate: Vec<&Block> = of_type.iter().copied().filter(|block| block.p == first.p).collect();
    let most = of_type.iter().map(|block| block.keys).max().unwrap_or(0);
    let about = format!("absent {} keys, p = {}", first.key_type, first.p);
    let one = by_keys(&of_rate, |row| row.ns(Op::Absent, Mode::Single));
    draw(&directory.join("absent-by-keys.svg"), &format!("One call a key: {about}"), &one, ABSENT)?;
    let batch = by_keys(&of_rate, |row| row.ns(Op::Absent, Mode::Batch).or(row.ns(Op::Absent, Mode::Single)));
    draw(&directory.join("batch-by-keys.svg"), &format!("In batches where a crate has them: {about}"), &batch, ABSENT)?;
    let title = format!("Memory for a false-positive rate, {:e} {} keys", most as f64, first.key_type);
    draw(&directory.join("bits-by-fpr.svg"), &title, &bits_by_fpr(&of_type), MEMORY)
}

/// What the axes are.
struct Axes {
    x: &'static str,
    y: &'static str,
    x_label: fn(&f64) -> String,
    y_label: fn(&f64) -> String,
    log_y: bool,
}

const ABSENT: Axes = Axes { x: "keys in the filter", y: "ns per lookup, hashing included", x_label: power, y_label: plain, log_y: true };
const MEMORY: Axes = Axes { x: "measured false-positive rate", y: "bits per key", x_label: power, y_label: plain, log_y: false };

fn power(value: &f64) -> String {
    format!("{value:.0e}")
}

fn plain(value: &f64) -> String {
    format!("{value}")
}

/// Every filter, over the numbers of keys.
fn by_keys(blocks: &[&Block], ns: impl Fn(&Row) -> Option<f64>) -> Vec<Series> {
    series(blocks, |block, row| Some((block.keys as f64, ns(row)?)))
}

/// Every filter, over the rates; at the greatest number of keys, where rounding to whole lines does not matter.
fn bits_by_fpr(blocks: &[&Block]) -> Vec<Series> {
    let most = blocks.iter().map(|block| block.keys).max().unwrap_or(0);
    let largest: Vec<&Block> = blocks.iter().copied().filter(|block| block.keys == most).collect();
    let rate = |row: &Row| row.fpr.map(|rate| rate.value()).filter(|rate| *rate > 0.0);
    // Kernels and hashes do not change what is on this plot.
    let tells = |row: &Row| {
        !["own ", "atomic", "portable", "avx2"].iter().any(|part| row.name.contains(part)) || matches!(row.family, Family::Blocked { .. })
    };
    series(&largest, |_, row| tells(row).then_some((rate(row)?, row.bits_per_key)))
}

fn series(blocks: &[&Block], point: impl Fn(&Block, &Row) -> Option<(f64, f64)>) -> Vec<Series> {
    let mut names: Vec<(&str, Family)> = Vec::new();
    for row in blocks.iter().flat_map(|block| &block.rows).filter(|row| row.family != Family::FloorByOurs) {
        if !names.iter().any(|(name, _)| *name == row.name) {
            names.push((&row.name, row.family));
        }
    }
    let mut all = Vec::new();
    for (which, (name, family)) in names.iter().enumerate() {
        let drawn = |row: &&Row| row.name == *name && row.compare != Compare::Bits;
        let mut points: Vec<(f64, f64)> = blocks.iter().filter_map(|block| point(block, block.rows.iter().find(drawn)?)).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        if !points.is_empty() {
            let among_family = names[..which].iter().filter(|other| other.1 == *family).count();
            let style = style(hue(&names, crate_of(name)), *family, among_family);
            let own = name.contains("own ");
            all.push(Series { name: (*name).to_string(), style, dashed: own || name.contains("huge pages"), hollow: own, points });
        }
    }
    all
}

/// What a row's name begins with: rows of one crate have one colour.
fn crate_of(name: &str) -> &str {
    name.split(", ").next().unwrap_or(name)
}

/// A place on the circle of colours, in steps of the golden ratio, which keep neighbours apart; the blues are left to ours.
fn hue(names: &[(&str, Family)], name_of_crate: &str) -> f64 {
    let mut crates: Vec<&str> = Vec::new();
    for (name, family) in names {
        if matches!(family, Family::Fastbloom | Family::FastbloomOwnHash | Family::Sbbf | Family::SbbfOurHash | Family::Other)
            && !crates.contains(&crate_of(name))
        {
            crates.push(crate_of(name));
        }
    }
    let place = crates.iter().position(|name| *name == name_of_crate).unwrap_or(0) as f64 * 0.618_034 % 1.0;
    // From red to green and from purple to red: what is between is ours.
    let warm = place * 0.63;
    if warm < 0.42 { warm } else { warm + 0.37 }
}

/// Ours blue and thick, floors grey, the others by their crate.
fn style(hue: f64, family: Family, among_family: usize) -> ShapeStyle {
    let lighter = 0.13 * among_family as f64;
    let (colour, width) = match family {
        Family::Blocked { lines: 1 } => (HSLColor(0.61, 0.9, 0.35), 4),
        Family::Blocked { .. } => (HSLColor(0.55, 0.9, 0.45), 4),
        Family::OtherOfOurs => (HSLColor(0.75, 0.5, 0.35 + lighter), 3),
        Family::Floor { lines: 1 } => (HSLColor(0.0, 0.0, 0.15), 2),
        Family::Floor { .. } => (HSLColor(0.0, 0.0, 0.55), 2),
        _ => (HSLColor(hue, 0.75, 0.42), 2),
    };
    colour.to_rgba().stroke_width(width)
}

fn draw(path: &Path, title: &str, series: &[Series], axes: Axes) -> Result<(), String> {
    let points = || series.iter().flat_map(|series| &series.points);
    if points().next().is_none() {
        return Ok(());
    }
    let range = |values: &mut dyn Iterator<Item = f64>| values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    let (left, right) = range(&mut points().map(|point| point.0));
    let (low, high) = range(&mut points().map(|point| point.1));
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());

    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(|error| failed(&error))?;
    let (plot, legend) = root.split_horizontally(SIZE.0 - LEGEND);
    let mut builder = ChartBuilder::on(&plot);
    builder.caption(title, ("sans-serif", 22)).margin(14).x_label_area_size(48).y_label_area_size(62);
    let x = (left / 1.5..right * 1.5).log_scale();
    if axes.log_y {
        let chart = builder.build_cartesian_2d(x, (low / 1.3..high * 1.3).log_scale());
        lines(chart.map_err(|error| failed(&error))?, series, &axes).map_err(|error| failed(&error))?;
    } else {
        let chart = builder.build_cartesian_2d(x, 0.0..high * 1.1);
        lines(chart.map_err(|error| failed(&error))?, series, &axes).map_err(|error| failed(&error))?;
    }
    key(&legend, series).map_err(|error| failed(&error))?;
    root.present().map_err(|error| failed(&error))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type DrawingError = DrawingAreaErrorKind<std::io::Error>;

/// Axes, lines, and a dot at each point, so that a single one is seen too.
fn lines<'a, Y>(
    mut chart: ChartContext<'a, SVGBackend<'a>, Cartesian2d<LogCoord<f64>, Y>>,
    series: &[Series],
    axes: &Axes,
) -> Result<(), DrawingError>
where
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Cartesian2d<LogCoord<f64>, Y>: CoordTranslate<From = (f64, f64)>,
{
    let mut mesh = chart.configure_mesh();
    mesh.x_desc(axes.x).y_desc(axes.y).x_label_formatter(&axes.x_label).y_label_formatter(&axes.y_label);
    mesh.label_style(("sans-serif", 14)).axis_desc_style(("sans-serif", 16)).light_line_style(WHITE.mix(0.0)).draw()?;
    for series in series {
        let points = || series.points.iter().copied();
        if series.dashed {
            chart.draw_series(DashedLineSeries::new(points(), 7, 5, series.style))?;
        } else {
            chart.draw_series(LineSeries::new(points(), series.style))?;
        }
        chart.draw_series(points().map(|point| Circle::new(point, 4, dot(series))))?;
    }
    Ok(())
}

/// A dot, or a ring for a crate's own hash.
fn dot(series: &Series) -> ShapeStyle {
    if series.hollow { series.style } else { series.style.filled() }
}

/// The legend.
fn key(area: &Area<'_>, series: &[Series]) -> Result<(), DrawingError> {
    for (which, series) in series.iter().enumerate() {
        let y = 60 + 22 * which as i32;
        let ends: &[(i32, i32)] = if series.dashed { &[(4, 11), (27, 34)] } else { &[(4, 34)] };
        for &(left, right) in ends {
            area.draw(&PathElement::new(vec![(left, y), (right, y)], series.style))?;
        }
        area.draw(&Circle::new((19, y), 4, dot(series)))?;
        area.draw(&Text::new(series.name.clone(), (42, y - 7), ("sans-serif", 14)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Rate;

    #[test]
    fn plots_name_every_filter() {
        let block = |keys| {
            let rate = Rate { hits: keys, trials: 1_000_000_000 };
            let rows = vec![
                Row::invented("ours", Family::Blocked { lines: 1 }, Compare::Reference, 5.0, rate),
                Row::invented("theirs, xxh3", Family::Other, Compare::Fpr, 9.0, rate),
                Row::invented("hidden", Family::Other, Compare::Bits, 9.0, rate),
            ];
            Block { keys, p: 0.01, key_type: "u64", rows, lines: 1, parallel: Vec::new(), churn: Vec::new(), waited: None }
        };
        let directory = std::env::temp_dir().join(format!("absentia-peers-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        write(&[block(100_000), block(1_000_000)], &directory).unwrap();
        let read = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
        let (absent, batch, bits) = (read("absent-by-keys.svg"), read("batch-by-keys.svg"), read("bits-by-fpr.svg"));
        std::fs::remove_dir_all(&directory).unwrap();
        for plot in [absent, batch, bits] {
            assert!(plot.contains("ours") && plot.contains("theirs, xxh3") && !plot.contains("hidden") && plot.len() < 60_000);
        }
    }
}
