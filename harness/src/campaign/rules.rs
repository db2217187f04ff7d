//! What the values of a campaign must be together. Each rule is one sentence: the key, its value,
//! what it must be.

use wiretrial_contract::control::{CaptureSettings, ReceiveCpu, TopologyKind};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::metric::{Scale, names};
use wiretrial_contract::plan::{
    Arrangement, Campaign, Case, GateSpec, Kind, Live, Measured, PassProgram, ReceiverSpec, Test,
    Topology, Traffic, Work, Workload,
};
use wiretrial_contract::stamp::{COMPACT_LEN, Form, MAX_SEQUENCE};
use wiretrial_contract::units::{Family, FrameSize, Nanos};

use super::keys::{self, At};
use super::margin;
use super::resolve::{TIMEOUTS_IN_SLICE, TIMEOUTS_IN_WARM_UP, WARM_UP_NS, smallest_frame, stamped};
use super::slices::{self, max_blocks};

/// The link beside the campaigns' folders.
const LATEST: &str = "latest";
/// The folder beside them.
const FLOORS: &str = "floors";
const MS: u64 = 1_000_000;

/// Checks a campaign whose every value has its form.
pub(super) fn check(campaign: &Campaign) -> Result<(), Failure> {
    alike(campaign).map_err(Failure::usage)?;
    design(campaign).map_err(Failure::usage)?;
    let refusals: Vec<Option<String>> = (0..campaign.cases.len())
        .map(|index| case(campaign, index).err())
        .collect();
    let Some((index, sentence)) = refusals
        .iter()
        .enumerate()
        .find_map(|(index, refusal)| refusal.as_ref().map(|sentence| (index, sentence)))
    else {
        return Ok(());
    };
    // What is wrong in every case alike is not a matter of one case.
    if refusals.iter().all(|refusal| refusal == &refusals[index]) {
        return Err(Failure::usage(sentence.as_str()));
    }
    let name = &campaign.cases[index].name;
    Err(Failure::usage(format!("case {name}: {sentence}")))
}

fn design(campaign: &Campaign) -> Result<(), String> {
    let design = &campaign.design;
    let allowed = |path: &str, fits: bool| allowed(campaign, path, 0, 0, fits);
    if campaign.name == LATEST {
        return Err(format!(
            "name is {LATEST}; that is the link to the newest evidence, choose another"
        ));
    }
    if campaign.name == FLOORS {
        return Err(format!(
            "name is {FLOORS}; that folder holds the floors of this host, choose another"
        ));
    }
    allowed(
        "design.pairs",
        design.pairs >= 6 && design.pairs.is_multiple_of(2),
    )?;
    allowed(
        "design.margin",
        design
            .margin
            .is_none_or(|margin| margin::is_allowed(margin, design.primary.scale())),
    )?;
    if design.require_stable && design.margin.is_none() {
        return Err(
            "design.require-stable is true; order and time are held against the margin, so declare \
             design.margin"
                .into(),
        );
    }
    allowed(
        "design.foreign-cpu",
        design.foreign_cpu > 0.0 && design.foreign_cpu <= 1.0,
    )?;
    let metrics = campaign.metrics();
    if !metrics.contains(&design.primary) {
        let why =
            if campaign.workload() == Workload::Live && design.primary.is_the_generators_clock() {
                "at a fixed offered rate that is the generator's clock"
            } else {
                "its trials do not have it"
            };
        return Err(format!(
            "design.primary is {}; {why}, choose {}",
            design.primary,
            names(&metrics)
        ));
    }
    if campaign.workload() != Workload::Live && design.arrangement == Arrangement::Sequential {
        return Err(
            "design.arrangement is sequential; passes of the two arms alternate always, leave it out"
                .into(),
        );
    }
    diagnostic(campaign)?;
    if campaign.kind == Kind::Table {
        table(campaign)?;
    }
    let topology = &campaign.topology;
    if topology.kind == TopologyKind::Loopback && topology.receive_cpu == ReceiveCpu::Separate {
        return Err(
            "topology.receive-cpu is separate; on loopback the receive work is done inside the \
             sender's calls, so choose topology.kind = \"wire\""
                .into(),
        );
    }
    for (index, one) in campaign.gates.iter().enumerate() {
        let before = &campaign.gates[..index];
        if before.iter().any(|other| other.name == one.name) {
            return Err(format!(
                "a second gate is called {}; names are unique",
                one.name
            ));
        }
        gate(one, campaign)?;
    }
    Ok(())
}

/// A table has arms of its own names, and nothing that is about a candidate.
fn table(campaign: &Campaign) -> Result<(), String> {
    let design = &campaign.design;
    if design.aa {
        return Err(
            "design.aa is true; a table shows how far equal arms come out apart with an arm that it \
             has twice, leave it out"
                .into(),
        );
    }
    if design.pilot > 0 {
        return Err(format!(
            "design.pilot is {}; a pilot is for the pairs of a paired campaign, leave it out",
            design.pilot
        ));
    }
    if let Some(gate) = campaign.gates.first() {
        return Err(format!(
            "gate {}: gates judge a candidate, and a table has none; use kind = \"paired\"",
            gate.name
        ));
    }
    let arms: Vec<&str> = campaign.arms.iter().map(|arm| arm.name.as_str()).collect();
    if let Some(reference) = &design.reference
        && !arms.contains(&reference.as_str())
    {
        return Err(format!(
            "design.reference is {reference}; it must be one of the arms {}",
            arms.join(", ")
        ));
    }
    if let Some(control) = &design.layout_control {
        let known = arms.contains(&control.as_str());
        if !known || Some(control) == design.reference.as_ref() || design.margin.is_none() {
            return Err(format!(
                "design.layout-control is {control}; it must be an arm beside the reference, in a table \
                 with a design.margin"
            ));
        }
    }
    let last = usize::from(campaign.topology.port) + Topology::ports(arms.len()) - 1;
    if last > usize::from(u16::MAX) {
        return Err(format!(
            "topology.port is {}; {} ports in a row do not fit above it, choose a lower one",
            campaign.topology.port,
            Topology::ports(arms.len())
        ));
    }
    Ok(())
}

/// Trials that count allocations are of the built-in receiver, one arm after the other.
fn diagnostic(campaign: &Campaign) -> Result<(), String> {
    if !campaign.is_diagnostic() {
        return Ok(());
    }
    let built_in = |case: &Case| {
        let live = case.live();
        live.is_some_and(|live| live.receivers.iter().all(|r| r.outside().is_none()))
    };
    let why = if !campaign.cases.iter().all(built_in) {
        "it is counted in live trials of the built-in receiver only"
    } else if campaign.design.arrangement != Arrangement::Sequential {
        "such trials run one arm after the other, with design.arrangement = \"sequential\""
    } else {
        return Ok(());
    };
    Err(format!(
        "design.primary is {}; {why}",
        campaign.design.primary
    ))
}

/// Refuses a gate without conditions, or on a metric that the trials do not have.
pub(super) fn gate(gate: &GateSpec, campaign: &Campaign) -> Result<(), String> {
    let known = campaign.metrics();
    if gate.conditions.is_empty() {
        return Err(format!("gate {} has no conditions", gate.name));
    }
    let missing = gate
        .conditions
        .iter()
        .find(|condition| !known.contains(&condition.metric));
    if let Some(condition) = missing {
        return Err(format!(
            "gate {}: its trials have no {}; they have {}",
            gate.name,
            condition.metric,
            names(&known)
        ));
    }
    let relative = |test| matches!(test, Test::Up(_) | Test::Down(_));
    let of_nothing = gate.conditions.iter().find(|condition| {
        condition.metric.scale() == Scale::Difference && relative(condition.test)
    });
    of_nothing.map_or(Ok(()), |condition| {
        Err(format!(
            "gate {}: {metric} can be 0, so that no percentage of it says anything; set a limit, as \
             \"{metric} <= 100\"",
            gate.name,
            metric = condition.metric
        ))
    })
}

/// All cases are of one workload, and the programs of one kind: what is compared is one thing.
fn alike(campaign: &Campaign) -> Result<(), String> {
    if campaign.cases.is_empty() {
        return Err("the campaign has no case".into());
    }
    let kind = |case: &Case| match &case.work {
        Work::Live(live) => {
            let outside = live.receivers.iter().filter(|one| one.outside().is_some());
            (Workload::Live, outside.count(), live.receivers.len())
        }
        Work::Passes(passes) => {
            let workload = match passes.input {
                Some(_) => Workload::File,
                None => Workload::Command,
            };
            let fold = |one: &&PassProgram| **one == PassProgram::RawFold;
            let outside = passes.programs.len() - passes.programs.iter().filter(fold).count();
            (workload, outside, passes.programs.len())
        }
    };
    let (workload, outside, arms) = kind(&campaign.cases[0]);
    let one = campaign
        .cases
        .iter()
        .all(|case| kind(case) == (workload, outside, arms));
    let all_or_none = outside == arms || (outside == 0 && workload != Workload::Command);
    if one && all_or_none {
        return Ok(());
    }
    Err("its cases differ in workload, or in whether programs of the user's are measured".into())
}

fn case(campaign: &Campaign, index: usize) -> Result<(), String> {
    let live = match &campaign.cases[index].work {
        Work::Live(live) => live,
        Work::Passes(passes) => {
            return allowed(campaign, "workload.passes", index, 0, passes.passes > 0);
        }
    };
    let traffic = &live.traffic;
    let family = campaign.topology.family;
    let allowed = |path: &str, arm: usize, fits: bool| allowed(campaign, path, index, arm, fits);
    allowed("traffic.rate-pps", 0, traffic.rate_pps >= 10)?;
    frame(traffic, family)?;
    for (arm, receiver) in live.receivers.iter().enumerate() {
        if let Measured::BuiltIn { capture, .. } = &receiver.program {
            let timeout = capture.timeout_ns;
            allowed(
                "receiver.timeout",
                arm,
                timeout > 0 && timeout.is_multiple_of(MS),
            )?;
            snaplen(capture, traffic, family)?;
        }
    }
    times(live)?;
    if traffic.flows == 0 || !u32::from(traffic.flows).is_multiple_of(traffic.senders) {
        return Err(format!(
            "traffic.flows is {}; it must be a multiple of traffic.senders, which is {}",
            traffic.flows, traffic.senders
        ));
    }
    allowed("traffic.max-burst", 0, traffic.max_burst >= traffic.batch)?;
    packets_of_a_slice(traffic)?;
    size(traffic, live.receivers.len() as u64)
}

/// The key's own sentence, unless its value fits.
fn allowed(
    campaign: &Campaign,
    path: &str,
    case: usize,
    arm: usize,
    fits: bool,
) -> Result<(), String> {
    if fits {
        return Ok(());
    }
    let key = keys::find(path).expect("rules are about known keys");
    let at = At {
        campaign,
        case,
        arm,
    };
    Err(key.refuse(&(key.show)(&at)))
}

fn frame(traffic: &Traffic, family: Family) -> Result<(), String> {
    let payload = FrameSize(traffic.frame_size).payload(family);
    if payload.and_then(Form::for_payload).is_some() {
        return Ok(());
    }
    Err(format!(
        "frame-size {} leaves {} bytes of UDP payload; \
         a counted packet needs {COMPACT_LEN} (frame-size {})",
        traffic.frame_size,
        payload.map_or_else(|| "no".into(), |bytes| bytes.to_string()),
        smallest_frame(family)
    ))
}

fn snaplen(capture: &CaptureSettings, traffic: &Traffic, family: Family) -> Result<(), String> {
    let needed = stamped(family, traffic.frame_size);
    if capture.snaplen >= needed {
        return Ok(());
    }
    Err(format!(
        "receiver.snaplen is {}; it must be at least {needed}, \
         the headers and the stamp of a frame of {} bytes",
        capture.snaplen, traffic.frame_size
    ))
}

fn times(live: &Live) -> Result<(), String> {
    let traffic = &live.traffic;
    let timeout = live
        .receivers
        .iter()
        .filter_map(ReceiverSpec::timeout_ns)
        .max()
        .unwrap_or(0);
    let because = |times: u64| format!("{times} times receiver.timeout {}", Nanos(timeout));
    let shortest = TIMEOUTS_IN_WARM_UP * timeout;
    let outside = live.receivers.iter().any(|arm| arm.outside().is_some());
    if traffic.warm_up_ns < WARM_UP_NS && !outside {
        return Err(at_least("traffic.warm-up", traffic.warm_up_ns, WARM_UP_NS));
    }
    if traffic.warm_up_ns < shortest {
        let sentence = at_least("traffic.warm-up", traffic.warm_up_ns, shortest);
        return Err(format!("{sentence}, {}", because(TIMEOUTS_IN_WARM_UP)));
    }
    let shortest = TIMEOUTS_IN_SLICE * timeout;
    if traffic.slice_ns < shortest {
        let sentence = at_least("traffic.slice", traffic.slice_ns, shortest);
        return Err(format!("{sentence}, {}", because(TIMEOUTS_IN_SLICE)));
    }
    if traffic.duration_ns < traffic.slice_ns {
        let sentence = at_least("traffic.duration", traffic.duration_ns, traffic.slice_ns);
        return Err(format!("{sentence}, one slice"));
    }
    Ok(())
}

fn at_least(path: &str, value_ns: u64, least_ns: u64) -> String {
    format!(
        "{path} is {}; it must be at least {}",
        Nanos(value_ns),
        Nanos(least_ns)
    )
}

/// Even the shortest slice holds a packet of every flow and a full batch of every sender; else the
/// datagrams per call and the flows would not be those that the plan states.
fn packets_of_a_slice(traffic: &Traffic) -> Result<(), String> {
    let packets = slices::packets(traffic.rate_pps, traffic.slice_ns);
    let work = u64::from(traffic.flows).max(u64::from(traffic.senders) * u64::from(traffic.batch));
    // A slice is drawn down to 4/5 of its nominal length, and rounding takes up to two packets.
    let needed = (work * 5).div_ceil(4) + 2;
    if packets >= needed {
        return Ok(());
    }
    let slice_ms = (needed * 1_000).div_ceil(traffic.rate_pps);
    Err(format!(
        "traffic.slice is {}, which holds {packets} packets; \
         flows {}, senders {} and batch {} need {needed} (slice {slice_ms}ms)",
        Nanos(traffic.slice_ns),
        traffic.flows,
        traffic.senders,
        traffic.batch
    ))
}

/// The schedule fits one message, and every sequence number its field.
fn size(traffic: &Traffic, arms: u64) -> Result<(), String> {
    let blocks = slices::warm_up_blocks(traffic) + slices::counted_blocks(traffic);
    let most = max_blocks(arms);
    if blocks > most {
        let sending_ns = traffic.duration_ns + traffic.warm_up_ns;
        let slice_ms = sending_ns.div_ceil(most - 2).div_ceil(MS);
        return Err(format!(
            "traffic.duration is {}, which is {blocks} slices of {} with the warm-up; \
             at most {most} fit a plan (slice {slice_ms}ms)",
            Nanos(traffic.duration_ns),
            Nanos(traffic.slice_ns)
        ));
    }
    // A slice begins with flow 0, so a flow may get up to one packet a slice above its share.
    let counted = slices::packets(traffic.rate_pps, traffic.duration_ns);
    let per_flow = counted / u64::from(traffic.flows) + slices::counted_blocks(traffic);
    if per_flow > MAX_SEQUENCE {
        return Err(format!(
            "traffic.duration is {}, which is {per_flow} packets a flow; \
             a stamp counts to {MAX_SEQUENCE}, so take more traffic.flows",
            Nanos(traffic.duration_ns)
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::overrides::Overrides;
    use super::super::{shipped, slices};
    use proptest::prelude::*;
    use wiretrial_contract::stamp::Class;

    proptest! {
        /// What is accepted can be sent as it is stated: no slice is too short for its batches and
        /// flows, and the warm-up reaches every group.
        #[test]
        fn slices_of_an_accepted_campaign_hold_their_work(
            rate in 10_u64..2_000_000, slice_ms in 50_u64..400, duration_ms in 50_u64..2_000,
            senders in 1_u64..5, flows_a_sender in 1_u64..9, batch in 1_u64..65, seed: u64,
        ) {
            let overrides = Overrides {
                set: vec![
                    format!("traffic.rate-pps={rate}"),
                    format!("traffic.slice={slice_ms}ms"),
                    format!("traffic.duration={duration_ms}ms"),
                    format!("traffic.senders={senders}"),
                    format!("traffic.flows={}", flows_a_sender * senders),
                    format!("traffic.batch={batch}"),
                ],
                ..Overrides::default()
            };
            let Ok(campaign) = shipped::load("demo", &overrides) else {
                return Ok(());
            };
            let work = (flows_a_sender * senders).max(senders * batch);
            let groups = slices::draw(&campaign.cases[0].live().unwrap().traffic, 3, seed, "case", 0);
            for slice in groups.iter().flatten() {
                let least = if slice.class == Class::Counted { work } else { 1 };
                prop_assert!(slice.packets >= least, "{} < {least}", slice.packets);
            }
        }
    }
}
