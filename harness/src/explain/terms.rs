//! The vocabulary of the project: what code, configuration and prose call things.

/// A term and what it means.
pub(super) const TERMS: &[(&str, &str)] = &[
    (
        "SUT",
        "system under test: everything that reacts as one to the datagrams, which is kernel, driver, host and receiver together",
    ),
    (
        "trial",
        "one fresh launch of the receiver (or program) and the datagrams sent to it: one arm, one case, one row",
    ),
    (
        "arm",
        "one of the things compared; a paired campaign has two, baseline and candidate",
    ),
    (
        "case",
        "a named point: the traffic and settings that both arms share",
    ),
    (
        "pair",
        "one trial of each arm, at the same time or next to each other, launched in drawn order; the unit of comparison and of resampling",
    ),
    (
        "slice",
        "a stretch of an interleaved pair's schedule that belongs to one arm or to the control port; never a replicate",
    ),
    (
        "round",
        "one trial of every arm of a table, launched in drawn order; what a pair is in a paired campaign",
    ),
    (
        "seed",
        "64 bits from which all orders, gaps, paddings and resamples are drawn; the same seed and plan draw the same",
    ),
    (
        "seal",
        "to write plan.json, once, before the first pair; its SHA-256 is the start of the chain of rows, so nothing of the rule can be changed after the data",
    ),
    (
        "void",
        "a pair of which a guard did not pass, a member failed or a signal came: kept as rows, in no estimate, replaced up to the declared number a case, those that a signal ended without counting",
    ),
    (
        "interval",
        "unless it says otherwise the 95 % decision interval: the hull of the expanded percentile and Student's t intervals of the effect",
    ),
    (
        "change",
        "ratio of the means less 1: below 0 the candidate costs less",
    ),
    (
        "limits",
        "what the evidence does not establish, from what was never varied and what was not known",
    ),
    (
        "class",
        "how far evidence carries: smoke, exploratory or confirmatory",
    ),
    (
        "rate not reached",
        "the sender fell short of the intended rate; where it does the receive work as well the capture may be why (coupled_limit), else the generator was the limit (generator_limited)",
    ),
    (
        "immediate mode",
        "every packet is handed over as it comes, instead of a block at a time (pcap_set_immediate_mode)",
    ),
    (
        "pass",
        "one run of a program over its whole input, or of a command; a trial has several, and the step pass runs them",
    ),
    (
        "unit",
        "what work is counted in: a packet of the input file, what a command's last line says, or the command itself",
    ),
    (
        "start-up",
        "CPU time before the first packet; in workload file what a pass over the first packets alone takes",
    ),
    (
        "short input",
        "the first packets of a capture file, read by passes of their own to see what starting takes",
    ),
    (
        "identity",
        "what an arm's executable is: SHA-256, build id, commit, uncommitted changes, compiler; never its path",
    ),
    (
        "filler",
        "datagrams after the counted ones that push the last of them out of a program's ring; never counted",
    ),
    (
        "control port",
        "a port that no capture's filter accepts; sending to it shows what a send call costs beside captures that reject its packets",
    ),
    (
        "pilot",
        "trials before the plan is sealed, to learn the noise; never in an estimate",
    ),
    (
        "detectable effect",
        "the smallest true change that the planned pairs find with 80 % power, by the noise the pilot or the A/A floor showed",
    ),
    (
        "pairs needed",
        "pairs at which equal arms are called the same within the margin with 80 % power; with fewer a campaign is underpowered",
    ),
    (
        "floor",
        "how far equal arms come out apart: half the 95 % decision interval of an A/A campaign, or the distance of its far end where it excludes no difference; a plan takes over the middle one of the last 14 days on hosts of its class under its conditions, and no smaller margin can be seen",
    ),
    (
        "occasion",
        "one finished A/A campaign that a floor is made from; it counts once, with the highest of its cases under the same conditions",
    ),
    (
        "budget",
        "running time after which no pair is begun; it looks at no value, and what it ends is incomplete",
    ),
    (
        "rehearsal",
        "one short trial of every arm and case before the plan is sealed; never in an estimate",
    ),
    (
        "campaign",
        "a question with its cases, arms, design and decision rule",
    ),
    (
        "plan",
        "the campaign with every default filled in, the order, seeds, margins and hashes of binaries; sealed before the data",
    ),
    (
        "evidence",
        "the sealed plan, the rows that are only ever appended, the environment and the checksums",
    ),
    ("verdict", "what the sealed rule says of the evidence"),
    (
        "margin",
        "the effect worth acting on and the width of \"the same\", declared before the data: of a ratio a factor either way (3 %: below 1/1.03, -2.9 %, or above 1.03), of a difference a number in its unit",
    ),
    (
        "decision interval",
        "the interval that verdicts rest on: the hull of an expanded bootstrap interval and Student's t on the log ratio of means",
    ),
    (
        "percentile interval",
        "the bootstrap interval over whole pairs that is published beside it; too narrow for small numbers of pairs to decide",
    ),
    (
        "difference",
        "mean of candidate less baseline in the metric's unit: how metrics that can be 0 are compared, in place of a ratio",
    ),
    (
        "family",
        "the primary comparisons of all cases of a campaign; p values and intervals that hold for all are adjusted over it",
    ),
    (
        "calibration",
        "the share of equal arms that an A/A campaign calls different, held against the 5 % that the method allows",
    ),
    ("intended load", "the rate that was asked for; a label only"),
    (
        "offered load",
        "datagrams the sender's kernel accepted over the measured sending time (RFC 2285 section 3.5); the load of record",
    ),
    (
        "delivered load",
        "unique datagrams at the consumer over the time from the first to the last",
    ),
    (
        "accepted",
        "counted datagrams that the sender's kernel took from the send call",
    ),
    (
        "unique",
        "counted datagrams that reached the consumer at least once",
    ),
    ("lost", "accepted less unique, exactly, by their numbers"),
    (
        "loss ratio",
        "lost over accepted, 0 to 1; a percentage only in prose, with its counts",
    ),
    (
        "frame size",
        "an Ethernet frame with its FCS, without preamble and gap (RFC 2544); the captured length lacks the 4 bytes of the FCS",
    ),
    (
        "throughput",
        "the highest rate with no loss at all (RFC 1242); any other is called a rate",
    ),
    (
        "PDR(0.001)",
        "partial drop rate: the highest rate at which the loss ratio is at most 0.001",
    ),
    (
        "stage",
        "a place where a packet can be lost, with the one counter that tells",
    ),
    (
        "ledger",
        "accepted = unique + loss by stage + unexplained, for one trial",
    ),
    (
        "load",
        "one arm of one case as a rate: what was asked, offered, delivered and lost",
    ),
    (
        "program",
        "the capture process under test: the built-in receiver or one of the user's own",
    ),
    (
        "agent",
        "our process on a host that holds its namespaces, counters and facts",
    ),
    (
        "guard",
        "a condition on the design of a trial, never on its result; one that does not hold voids the pair",
    ),
    (
        "void",
        "a pair that is kept in evidence, left out of the estimate and replaced",
    ),
    (
        "gate",
        "a declared condition on the verdicts, which sets the exit code",
    ),
    (
        "host class",
        "four digits of a hash over what makes hosts alike: CPU, kernel and how it keeps CPU time, libpcap, card, virtualisation, isolation",
    ),
    (
        "CPU accounting",
        "how the kernel keeps CPU time: by tick or precisely, ticks a second, and whether interrupts are taken out of the process they interrupt; CPU times of one mode are never compared with those of another",
    ),
    (
        "attempt",
        "how often the same question was asked under one evidence root; earlier plans are listed",
    ),
    (
        "baseline, candidate",
        "the two arms of a paired campaign: what there was, and what is proposed",
    ),
    (
        "A/A",
        "a campaign whose arms are the same on purpose; what it finds is the floor of this host",
    ),
    (
        "sent, seen, lost",
        "datagrams the sender's kernel accepted, those delivered at least once, and the difference",
    ),
    (
        "95 % bound",
        "upper bound of the loss ratio over all trials of an arm in a case, the worst of the arms and cases of its line; with no loss it takes packets to be lost singly",
    ),
    (
        "0.1 % rule",
        "at most one packet lost per thousand accepted, in integers, in every trial",
    ),
    (
        "check",
        "an identity or guard over all trials, with both sides' numbers, in report.md",
    ),
    (
        "ps_recv",
        "libpcap's count of frames that passed the kernel's filter, those dropped included",
    ),
    (
        "ps_drop",
        "libpcap's count of frames for which the capture ring had no room",
    ),
    (
        "private.json",
        "names of hosts and users, addresses, paths and boot ids beside the evidence, of every session, for its owner alone: outside the hashes and never packed",
    ),
    (
        "private string",
        "what tells where evidence was made: names of host (of at least three letters) and user, home folder, absolute paths, addresses of interfaces, boot id; words such as HOST stand for them in logs, and what holds one is not packed (wiretrial pack --public TEXT allows a word)",
    ),
    (
        "recompute.py",
        "a script in every evidence folder that redoes chain, values, intervals and verdicts of the primary metric without wiretrial, where that is process-cpu-ns-per-packet, receive-cpu-ns-per-packet, capture-cost-ns-per-packet, elapsed-ns-per-unit or units-per-second; of verdicts that a guard or a floor decided or lowered it says that they were not recomputed, and checks only that the reason can give the word",
    ),
];
