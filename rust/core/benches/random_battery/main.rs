//! A battery of statistical tests on the random function: words as they are drawn, and offsets as the
//! I/O path draws them, for capacities that are no powers of two. Prints the probability of each result by
//! chance, and fails if one is beyond belief.
//!
//!     cargo bench --bench random_battery -- [LOG2_OF_DRAWS] [SEED]

mod shares;
mod words;

use std::process::ExitCode;

use openpts_core::workload::Uniform;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// A p-value nearer than this to 0 or to 1 is beyond belief; of some 50 results, one in 10,000 runs has one.
const BELIEF: f64 = 1e-6;

/// A test's name and its p-value.
type Outcome = (&'static str, f64);

fn main() -> ExitCode {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse::<u64>().ok());
    let log2 = numbers.next().unwrap_or(26).clamp(20, 40);
    let seed = numbers.next().unwrap_or(1);
    let draws = 1 << log2;
    println!("seed {seed}, 2^{log2} draws for each test; p-values:");

    let mut is_sound = true;
    let mut thread = Uniform::for_thread(seed, 0);
    is_sound &= print("words of one thread", &words::battery(draws, || thread.bits()));
    let mut word = in_turn(seed, Uniform::bits);
    is_sound &= print("words of eight threads in turn", &words::battery(draws, &mut word));
    for (capacity, others) in [(117_210_903, 1), (3_750_748_848, 2), ((1 << 63) / 3 * 2 + 1, 3)] {
        let mut offset = in_turn(seed.wrapping_add(others), move |random| random.below(capacity));
        let share = || (offset() as f64 + 0.5) / capacity as f64;
        is_sound &= print(&format!("offsets below {capacity}"), &shares::battery(draws, share));
    }
    let mut state = 1_u32;
    let randu = || {
        state = state.wrapping_mul(65_539) & 0x7FFF_FFFF;
        f64::from(state) / f64::from(1_u32 << 31)
    };
    let control_fails = !print("control: RANDU, which has to fail", &shares::battery(1 << 22, randu));
    if is_sound && control_fails { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Draws of eight threads, one after the other: what the device sees.
fn in_turn(seed: u64, draw: impl Fn(&mut Uniform) -> u64) -> impl FnMut() -> u64 {
    let mut threads: [Uniform; 8] = std::array::from_fn(|thread| Uniform::for_thread(seed, thread as u32));
    let mut turn = 0;
    move || {
        turn = (turn + 1) % threads.len();
        draw(&mut threads[turn])
    }
}

fn print(source: &str, outcomes: &[Outcome]) -> bool {
    println!("{source}");
    let is_believable = |p: f64| (BELIEF..=1.0 - BELIEF).contains(&p);
    for (name, p) in outcomes {
        println!("    {name:48} {p:.6}{}", if is_believable(*p) { "" } else { "  beyond belief" });
    }
    outcomes.iter().all(|(_, p)| is_believable(*p))
}

/// The p-value of a sum of squares.
fn chi_square_p(statistic: f64, degrees_of_freedom: f64) -> f64 {
    ChiSquared::new(degrees_of_freedom).expect("above 0").sf(statistic)
}

/// Pearson's test of counts against probabilities.
fn fit_p(counts: &[u64], probability: impl Fn(usize) -> f64) -> f64 {
    let total = counts.iter().sum::<u64>() as f64;
    let statistic: f64 = counts
        .iter()
        .enumerate()
        .map(|(cell, count)| {
            let expected = total * probability(cell);
            (*count as f64 - expected).powi(2) / expected
        })
        .sum();
    chi_square_p(statistic, counts.len() as f64 - 1.0)
}
