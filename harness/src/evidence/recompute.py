"""Recomputes Wiretrial evidence with nothing but Python 3.8 or newer: python3 recompute.py [FOLDER]"""
import functools, hashlib, itertools, json, os, sys; sha = lambda data: hashlib.sha256(data).hexdigest()
from math import cos, erfc, exp, fsum, isclose, pi, sin, sqrt, tan; mean = lambda values: fsum(values) / len(values)
FORCES = {why: word for words in ("incomplete budget_exhausted interrupted/invalid"
    " replacements_exhausted wrong_result unknown_value counter_mismatch/asymmetric_failures voids_on_one_arm/"
    "not_comparable unequal_work coupled_limit/unstable position_effect order_adjustment change_point/inconclusive"
    " below_floor/- layout_sensitive layout_unknown work_unproven tail_unknown/. no_margin spans_no_difference"
    " too_few_pairs not_positive").split("/") for word, *some in [words.split()] for why in some}
os.chdir((sys.argv[1:] or [os.path.dirname(__file__) or "."])[0]); LAST, U64, done = 19999, 2**64 - 1, [0, 0, 0]
def same(where, written, again):
    alike = lambda one, other: one == other or isinstance(other, float) and one and isclose(one, other, rel_tol=1e-9)
    [alike(a, b) or sys.exit(f"{where}: written {a}, recomputed {b}") for a, b in itertools.zip_longest(written, again)]
mix = lambda z: (z := ((z := (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & U64) ^ z >> 27) * 0x94D049BB133111EB & U64) ^ z >> 31
def t_quantile(alpha, df, low=0.0, high=pi / 2):  # |T| exceeds it with this chance (Abramowitz and Stegun 26.7.3-4)
    while low < (angle := (low + high) / 2) < high:
        total = functools.reduce(lambda s, k: 1 + s * cos(angle) ** 2 * (k - 1) / k, range(df - 2, 1 + df % 2, -2), 1)
        inside = 2 / pi * (angle + sin(angle) * cos(angle) * total) if df % 2 else sin(angle) * total
        low, high = (angle, high) if 1 - inside > alpha else (low, angle)
    return sqrt(df) * tan(low)
def value(metric, work, row):  # TypeError or ZeroDivisionError where a count is not known
    ((kind, got),) = row["delivery"].items()
    if kind == "passes":  # over a file, or of a command
        of = lambda key, which="whole": [p[key] for p in got if p["input"] == which]
        file, ns = work["passes"].get("input"), mean(of("elapsed_ns"))
        units = file["units"] if file else 1 if set(of("units")) == {None} else mean(of("units"))
        if "cpu" not in metric: return {"elapsed-ns-per-unit": ns / units, "units-per-second": 1e9 * units / ns}[metric]
        start, fewer = (mean(of("cpu_ns", "short")), file["short_units"]) if file else (0, 0)
        return (mean(of("cpu_ns")) - start) / (units - fewer)
    by = {json.dumps(group["name"]): group for group in row["generator"]["groups"]}
    sent = by[json.dumps({"arm": row["arm"]})]; each = lambda key, of=sent: of.get(key) / of.get("accepted")
    if metric == "receive-cpu-ns-per-packet": return each("receive_cpu_ns")
    seen = got["copies"]["unique"] if kind == "sequences" else got["counts"]["processed"]
    since = sent["accepted"] + sent["warm_up_accepted"] + sent["filler_accepted"]
    if kind == "count": seen = since if seen is None else max(0, seen - sent["probe_accepted"])
    beside = "receive_cpu_ns" if sent["receive_cpu_ns"] is not None else "coupled" in row["flags"] and "send_call_ns"
    return got["process_cpu_ns"] / seen + ("cost" in metric and each(beside) - each(beside, by.get('"control"', {})))
def intervals(a, b, draws):  # of mean(b) / mean(a) at 95 and 90 %; quantiles of type 7 (Hyndman and Fan, 1996)
    n, ratio, found = len(a), mean(b) / mean(a), []; deltas = [y / mean(b) - x / mean(a) for x, y in zip(a, b)]
    if n >= 6 and all(abs(d) <= 1e-12 * x / mean(a) for d, x in zip(deltas, a)): return [[ratio] * 4] * 4
    many = sorted(sum(b[i] for i in draws[k:k+n]) / sum(a[i] for i in draws[k:k+n]) for k in range(0, len(draws), n))
    ends = lambda p: [many[int(x)] + x % 1 * (many[int(x) + 1] - many[int(x)]) for x in (LAST * p, LAST * (1 - p))]
    for alpha, t in ((alpha, t_quantile(alpha, n - 1)) for alpha in ((0.05, 0.1) if n >= 6 else ())):
        wide = ends(erfc(sqrt(n / (n - 1) / 2) * t) / 2)  # expanded for few pairs (Hesterberg, 2015)
        student = [ratio * exp(side * t * sqrt(fsum(d * d for d in deltas) / (n * (n - 1)))) for side in (-1, 1)]
        found.append([ends(alpha / 2), wide, student, [min(wide + student), max(wide + student)]])
    return [one + other for one, other in zip(*found)] or [[]] * 4
def verdict(lo95, hi95, lo90, hi90, m, far):  # where the margin is not a number nothing is within or beyond it
    one_way = "improved" if hi95 < 1 else "regressed" if lo95 > 1 else "inconclusive"
    if hi95 < 1 / (1 + m) or lo95 > 1 + m: return one_way + "_worthwhile" * far
    return "equivalent" if 1 / (1 + m) < lo90 and hi90 < 1 + m else one_way
plan, rows, analysis = (open(name, "rb").read() for name in ("plan.json", "trials.jsonl", "analysis.json"))
same("chain", [json.loads(row)["prev"] for row in rows.splitlines()], map(sha, [plan] + rows.splitlines()[:-1]))
same("hashes", [json.loads(analysis)[name] for name in ("plan_sha256", "rows_sha256")], [sha(plan), sha(rows)])
plan, rows, compared = json.loads(plan), list(map(json.loads, rows.splitlines())), json.loads(analysis)["comparisons"]
design, names = plan["campaign"]["design"], [arm["name"] for arm in plan["campaign"]["arms"]]
metric, margin, first = design["primary"], design["margin"] or float("nan"), design.get("reference", names[0])
if metric not in ("process-cpu-ns-per-packet", "receive-cpu-ns-per-packet", "capture-cost-ns-per-packet",
    "elapsed-ns-per-unit", "units-per-second"): sys.exit(f"{metric} is not recomputed here; wiretrial verify does")
for case, name in itertools.product(plan["campaign"]["cases"], [name for name in names if name != first]):
    own = next(c for c in compared if c["primary"] and (c["case"], c.get("arm", name)) == (case["name"], name))
    ok = {(row["pair"], row["arm"]): row for row in rows if row["case"] == own["case"] and row["outcome"] == "ok"}
    pairs = sorted(pair for pair, arm in ok if arm == first and all((pair, other) in ok for other in names))
    try: arms = [[float(value(metric, case["work"], row := ok[pair, arm])) for pair in pairs] for arm in (first, name)]
    except (TypeError, ZeroDivisionError): arms = [[], []]
    except KeyError as field: sys.exit(f"{own['case']}, row of {row['arm']} in pair {row['pair']}: no field {field}")
    costs = [[1 / x for x in arm] if metric == "units-per-second" else arm for arm in arms]
    seed = f"bootstrap\0{own['case']}\0".encode() + int(plan["seed"], 16).to_bytes(8, "little")
    seed, n = int.from_bytes(hashlib.sha256(seed).digest()[:8], "little"), len(pairs)  # SplitMix64 (Steele, 2014)
    draws = bytes(mix(seed + k * 0x9E3779B97F4A7C15 & U64) * n >> 64 for k in range(1, 20000 * n + 1))
    found = intervals(*costs, draws) if arms[0] and min(map(min, costs)) > 0 else [[]] * 4
    again = [x for pair in zip(*arms) for x in pair] + [sha(draws) if found[3] else None]
    same(f"values, index_sha256 of {own['case']}", sum(own["values"], []) + [own["index_sha256"]], again)
    for kind, ends in zip(("percentile", "expanded", "delta_t", "decision"), found):
        if metric == "units-per-second" and ends: ends = [1 / ends[i] for i in (1, 0, 3, 2)]
        same(f"{kind} interval of {own['case']}", [own[kind][end] for end in ("lo95", "hi95", "lo90", "hi90")], ends)
    forced = [FORCES.get(why) or sys.exit(f"{own['case']}: {why} is no known reason") for why in own["reasons"]]
    said = [word for word in forced if word > "."] or [verdict(*found[3] or (0, 2, 0, 2), margin, "-" not in forced)]
    same(f"verdict of {own['case']}", [own["verdict"]], said[:1])
    done = [sum(two) for two in zip(done, (bool(found[3]), not {*forced} - {"."}, bool({*forced} - {"."})))]
print("{} rows, {} intervals, {} verdicts: equal; {} verdicts NOT recomputed (guards)".format(len(rows), *done))
