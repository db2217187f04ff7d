//! How this kernel keeps CPU time, found by a self-test of a tenth of a second before anything is
//! measured: one CPU is kept busy, and the kernel's own counts of that time are read.
//!
//! Where time is charged by the tick, a thread has user or system time only of what a tick met it
//! in; until ticks have met it in both, all of its time counts as one (`cputime_adjust` in the
//! kernel's `kernel/sched/cputime.c`). So threads work in user space for more than two ticks and in the
//! kernel for a twentieth of one: a kernel that keeps time precisely shows both, and one that charges
//! ticks hardly ever does. Sums of user and system time are the scheduler's in either mode; what
//! differs beside the parts is whether a busy CPU is interrupted at all, and whether interrupts are
//! charged to the thread they interrupt.

use std::fs::{self, File};
use std::io::Read;
use std::thread;
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use nix::time::{ClockId, clock_getres};
use nix::unistd::{Pid, gettid};

use wiretrial_contract::clock;
use wiretrial_contract::record::CpuAccounting;

use super::kernel::Config;

/// How long the CPU is kept busy, ns.
const TEST_NS: u64 = 100_000_000;
/// Tests at most: one of a CPU that seems to have no tick is repeated, since the host of a virtual
/// machine may have held the CPU back.
const TESTS: usize = 3;
/// Ticks a second that kernels are built with (`kernel/Kconfig.hz`).
const RATES: [u32; 4] = [100, 250, 300, 1000];
/// Length of a tick where the kernel does not say, ns.
const USUAL_TICK_NS: u64 = 4_000_000;
/// Fewest threads that say anything.
const LEAST_THREADS: u32 = 3;
/// Longest wait for threads to be gone, ns.
const GONE_NS: u64 = 1_000_000_000;

/// How CPU time is kept here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Ticks {
    /// Timer interrupts a second of a busy CPU.
    pub(super) hz: Option<u32>,
    /// What user and system time are charged by.
    pub(super) accounting: Option<CpuAccounting>,
}

/// What one test saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Seen {
    elapsed_ns: u64,
    /// Local timer interrupts of the CPU in that time.
    interrupts: Option<u64>,
    /// Threads that worked in user space and in the kernel.
    threads: u32,
    /// Those that had user and system time.
    with_both: u32,
}

/// Tests `cpu`. It starts threads, and they are gone when it returns: a process with several cannot
/// make a user namespace.
pub(super) fn test(cpu: u32, config: Option<&Config>) -> Ticks {
    let step_ns = coarse_step_ns();
    let tick_ns = step_ns.unwrap_or(USUAL_TICK_NS);
    let mut seen = Vec::new();
    while seen.len() < TESTS {
        let Some(now) = busy(cpu, tick_ns) else { break };
        seen.push(now);
        if !is_tickless(&seen, tick_ns) {
            break;
        }
    }
    Ticks {
        hz: hz(step_ns, &seen),
        accounting: accounting(config, seen.last()),
    }
}

/// What the kernel's coarse clock steps by: its tick (clock_getres(2)).
fn coarse_step_ns() -> Option<u64> {
    let step = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).ok()?;
    let step_ns = step.tv_sec().cast_unsigned() * 1_000_000_000 + step.tv_nsec().cast_unsigned();
    (1_000_000..=20_000_000)
        .contains(&step_ns)
        .then_some(step_ns)
}

/// Whether a busy CPU had less than a tenth of its ticks in every test: it has none while one thread
/// alone runs on it (`nohz_full`).
fn is_tickless(seen: &[Seen], tick_ns: u64) -> bool {
    !seen.is_empty()
        && seen.iter().all(|seen| {
            seen.interrupts
                .is_some_and(|interrupts| interrupts.saturating_mul(10) < seen.elapsed_ns / tick_ns)
        })
}

/// Other timers interrupt a CPU too, and a virtual one may miss ticks: the rate is the kernel's own
/// word, and the interrupts say whether it holds for a busy CPU. Without that word it is the rate that
/// they fit to a tenth.
fn hz(step_ns: Option<u64>, seen: &[Seen]) -> Option<u32> {
    if let Some(step_ns) = step_ns {
        let built_with = |hz: &u32| step_ns.abs_diff(1_000_000_000 / u64::from(*hz)) < 10_000;
        return RATES
            .into_iter()
            .find(built_with)
            .filter(|_| !is_tickless(seen, step_ns));
    }
    let seen = seen.last()?;
    let a_second = seen.interrupts? * 1_000_000_000 / seen.elapsed_ns.max(1);
    RATES
        .into_iter()
        .find(|hz| a_second.abs_diff(u64::from(*hz)) * 10 <= u64::from(*hz))
}

/// Tick and native accounting are built in; the generic precise one is used or not as the kernel was
/// started, which only the test shows. A test that contradicts what is built in leaves it unknown.
fn accounting(config: Option<&Config>, seen: Option<&Seen>) -> Option<CpuAccounting> {
    let tested = seen.and_then(|seen| {
        let Seen {
            threads, with_both, ..
        } = *seen;
        if threads < LEAST_THREADS {
            None
        } else if with_both * 4 >= threads * 3 {
            Some(CpuAccounting::Precise)
        } else if with_both * 2 <= threads {
            Some(CpuAccounting::Tick)
        } else {
            None
        }
    });
    let has = |name| config.is_some_and(|config| config.has(name));
    if has("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE") {
        Some(CpuAccounting::Precise)
    } else if has("CONFIG_TICK_CPU_ACCOUNTING") {
        Some(CpuAccounting::Tick).filter(|_| tested != Some(CpuAccounting::Precise))
    } else {
        tested
    }
}

/// Keeps `cpu` busy; `None` where this process may not run there.
fn busy(cpu: u32, tick_ns: u64) -> Option<Seen> {
    let (seen, threads) = thread::spawn(move || keep_busy(cpu, tick_ns)).join().ok()?;
    let until_ns = clock::monotonic_ns() + GONE_NS;
    for thread in threads {
        // Joined is not gone yet.
        while fs::exists(format!("/proc/self/task/{thread}")).unwrap_or(false)
            && clock::monotonic_ns() < until_ns
        {
            thread::sleep(Duration::from_micros(50));
        }
    }
    seen
}

fn keep_busy(cpu: u32, tick_ns: u64) -> (Option<Seen>, Vec<Pid>) {
    let mut threads = vec![gettid()];
    let mut set = CpuSet::new();
    let index = usize::try_from(cpu).unwrap_or(usize::MAX);
    if set.set(index).is_err() || sched_setaffinity(Pid::from_raw(0), &set).is_err() {
        return (None, threads);
    }
    let (start_ns, before) = (clock::monotonic_ns(), timer_interrupts(cpu));
    let mut seen = Seen::default();
    while clock::monotonic_ns() - start_ns < TEST_NS {
        // A thread of its own has no time yet, and inherits the CPU.
        let Ok((thread, times)) = thread::spawn(move || work(tick_ns)).join() else {
            break;
        };
        threads.push(thread);
        if let Some((user, system)) = times {
            seen.threads += 1;
            seen.with_both += u32::from(user > TimeVal::zero() && system > TimeVal::zero());
        }
    }
    let after = timer_interrupts(cpu);
    seen.elapsed_ns = clock::monotonic_ns() - start_ns;
    seen.interrupts = after
        .zip(before)
        .and_then(|(after, before)| after.checked_sub(before));
    (Some(seen), threads)
}

/// Works in user space and then in the kernel, and says what the kernel counted of each.
fn work(tick_ns: u64) -> (Pid, Option<(TimeVal, TimeVal)>) {
    let start_ns = clock::monotonic_ns();
    let mut sum = 0_u64;
    while clock::monotonic_ns() - start_ns < tick_ns * 9 / 4 {
        // Some clocks take a system call; it must not be what the time goes to.
        for number in 0..50_000_u64 {
            sum = std::hint::black_box(sum.wrapping_add(number));
        }
    }
    let start_ns = clock::monotonic_ns();
    let zeros = File::open("/dev/zero");
    let mut bytes = [0; 4096];
    while clock::monotonic_ns() - start_ns < tick_ns / 20 {
        if !zeros
            .as_ref()
            .is_ok_and(|mut zeros| zeros.read(&mut bytes).is_ok())
        {
            break;
        }
    }
    let usage = getrusage(UsageWho::RUSAGE_THREAD).ok();
    let times = usage.map(|usage| (usage.user_time(), usage.system_time()));
    (gettid(), times)
}

fn timer_interrupts(cpu: u32) -> Option<u64> {
    interrupts_of(&fs::read_to_string("/proc/interrupts").ok()?, cpu)
}

/// Local timer interrupts of a CPU in the text of /proc/interrupts (proc_interrupts(5)): the line
/// `LOC`, or that of arm's `arch_timer`.
fn interrupts_of(text: &str, cpu: u32) -> Option<u64> {
    let mut lines = text.lines();
    let name = format!("CPU{cpu}");
    let column = lines
        .next()?
        .split_whitespace()
        .position(|one| one == name)?;
    let line = lines.find(|line| {
        let label = line.split_whitespace().next();
        label == Some("LOC:") || line.split_whitespace().any(|word| word == "arch_timer")
    })?;
    line.split_whitespace().nth(column + 1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86: &str = "           CPU0       CPU2       \n 24:          1          0  IO-APIC   \
                       5-edge      ACPI:Ged\nLOC:    5371278    4414570   Local timer interrupts\n";
    const ARM: &str = "           CPU0       CPU1       \n 11:       1234       5678     GICv3  27 \
                       Level     arch_timer\nIPI0:      3          4   Rescheduling interrupts\n";

    #[test]
    fn interrupts_of_a_cpu_by_its_column() {
        assert_eq!(interrupts_of(X86, 0), Some(5_371_278));
        assert_eq!(interrupts_of(X86, 2), Some(4_414_570));
        assert_eq!(interrupts_of(X86, 1), None, "it is offline");
        assert_eq!(interrupts_of(ARM, 1), Some(5_678));
        assert_eq!(interrupts_of("  CPU0\n 1: 5 x\n", 0), None);
        assert_eq!(interrupts_of("", 0), None);
    }

    fn seen(interrupts: u64) -> Seen {
        Seen {
            elapsed_ns: TEST_NS,
            interrupts: Some(interrupts),
            ..Seen::default()
        }
    }

    #[test]
    fn the_rate_is_the_kernels_word_unless_a_busy_cpu_has_no_ticks() {
        for (step_ns, rate) in [
            (10_000_000, Some(100)),
            (4_000_000, Some(250)),
            (3_333_333, Some(300)),
            (1_000_000, Some(1000)),
            (7_812_500, None),
        ] {
            assert_eq!(hz(Some(step_ns), &[]), rate);
        }
        // Other timers, a host that held the CPU back, no count at all.
        assert_eq!(hz(Some(4_000_000), &[seen(39)]), Some(250));
        assert_eq!(hz(Some(4_000_000), &[seen(3)]), Some(250));
        assert_eq!(hz(Some(4_000_000), &[Seen::default()]), Some(250));
        assert_eq!(hz(Some(4_000_000), &[seen(1), seen(0), seen(1)]), None);
        assert_eq!(hz(Some(4_000_000), &[seen(1), seen(24)]), Some(250));
    }

    #[test]
    fn without_that_word_the_rate_is_what_the_interrupts_fit() {
        for (interrupts, rate) in [
            (10, Some(100)),
            (25, Some(250)),
            (31, Some(300)),
            (104, Some(1000)),
            (50, None),
            (0, None),
        ] {
            assert_eq!(hz(None, &[seen(interrupts)]), rate, "{interrupts}");
        }
        assert_eq!(hz(None, &[Seen::default()]), None);
        assert_eq!(hz(None, &[]), None);
    }

    #[test]
    fn what_is_built_in_decides_and_else_what_threads_showed() {
        let showed = |with_both, threads| Seen {
            threads,
            with_both,
            ..Seen::default()
        };
        let of = |config: &str, seen: Seen| {
            let config = Config::from(config);
            accounting(Some(&config), Some(&seen))
        };
        let (tick, precise) = (Some(CpuAccounting::Tick), Some(CpuAccounting::Precise));
        let either = "CONFIG_VIRT_CPU_ACCOUNTING_GEN=y\n# CONFIG_TICK_CPU_ACCOUNTING is not set\n";
        assert_eq!(of(either, showed(0, 10)), tick);
        assert_eq!(of(either, showed(5, 10)), tick);
        assert_eq!(of(either, showed(6, 10)), None);
        assert_eq!(of(either, showed(8, 10)), precise);
        assert_eq!(of(either, showed(2, 2)), None);
        let ticks = "CONFIG_TICK_CPU_ACCOUNTING=y\n";
        assert_eq!(of(ticks, showed(0, 2)), tick);
        assert_eq!(of(ticks, showed(10, 10)), None);
        let native = "CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y\n";
        assert_eq!(of(native, showed(0, 10)), precise);
        assert_eq!(accounting(None, Some(&showed(1, 10))), tick);
        assert_eq!(accounting(None, None), None);
    }

    #[test]
    fn this_kernel_is_seen_as_it_was_built_and_no_thread_is_left() {
        let cpu = *crate::agent::allowed_cpus(Pid::from_raw(0)).last().unwrap();
        let config = Config::read();
        let seen = busy(cpu, USUAL_TICK_NS).unwrap();
        assert!(seen.threads > 0 && seen.elapsed_ns >= TEST_NS);
        let ticks = test(cpu, config.as_ref());
        let Some(config) = config else {
            eprintln!("skipped: this kernel's configuration cannot be read");
            return;
        };
        for hz in RATES {
            if config.has(&format!("CONFIG_HZ_{hz}")) && ticks.hz.is_some() {
                assert_eq!(ticks.hz, Some(hz));
            }
        }
        if config.has("CONFIG_TICK_CPU_ACCOUNTING") {
            assert_ne!(accounting(None, Some(&seen)), Some(CpuAccounting::Precise));
            assert_eq!(ticks.accounting, Some(CpuAccounting::Tick));
        }
    }

    #[test]
    fn a_cpu_it_may_not_run_on_says_nothing() {
        assert_eq!(busy(1023, USUAL_TICK_NS), None);
        let ticks = test(1023, None);
        assert_eq!(ticks.accounting, None);
    }
}
