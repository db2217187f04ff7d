"""Recomputes Wiretrial evidence with nothing but Python 3.8 or newer: python3 recompute.py [FOLDER]"""
import functools, hashlib, itertools, json, os, sys
from math import cos, erfc, exp, fsum, isclose, pi, sin, sqrt, tan
DRAWS, LAST, MASK = 20000, 19999, 2**64 - 1
os.chdir(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)))
sha, mean = lambda data: hashlib.sha256(data).hexdigest(), lambda values: fsum(values) / len(values)
def same(where, written, again):
    for one, other in itertools.zip_longest(written, again):
        if one != other and not (isinstance(other, float) and one and isclose(one, other, rel_tol=1e-9)):
            sys.exit(f"{where}: written {one}, recomputed {other}")
def mix(z):  # SplitMix64 (Steele, Lea and Flood, 2014)
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK; z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK; return z ^ z >> 31
def t_quantile(alpha, df):  # |T| exceeds it with probability alpha (Abramowitz and Stegun 26.7.3-4)
    low, high = 0.0, pi / 2
    while low < (angle := (low + high) / 2) < high:
        total = functools.reduce(lambda s, k: 1 + s * cos(angle) ** 2 * (k - 1) / k, range(df - 2, 1 + df % 2, -2), 1)
        inside = 2 / pi * (angle + sin(angle) * cos(angle) * total) if df % 2 else sin(angle) * total
        low, high = (angle, high) if 1 - inside > alpha else (low, angle)
    return sqrt(df) * tan(low)
def value(metric, work, row):  # TypeError or ZeroDivisionError where a count is missing, KeyError for another metric
    ((kind, got),) = row["delivery"].items()
    if kind == "passes":  # over a file, or of a command
        of = lambda key, which="whole": [p[key] for p in got if p["input"] == which]
        file, ns = work["passes"].get("input"), mean(of("elapsed_ns"))
        units = file["units"] if file else 1 if set(of("units")) == {None} else mean(of("units"))
        if "cpu" not in metric: return {"elapsed-ns-per-unit": ns / units, "units-per-second": 1e9 * units / ns}[metric]
        short = (mean(of("cpu_ns", "short")), file["short_units"]) if file else (0, 0)
        return {"process-cpu-ns-per-packet": (mean(of("cpu_ns")) - short[0]) / (units - short[1])}[metric]
    groups = {json.dumps(group["name"]): group for group in row["generator"]["groups"]}
    sent, control = groups[json.dumps({"arm": row["arm"]})], groups.get('"control"', {})
    each = lambda key, group=sent: group.get(key) / group.get("accepted")
    if metric == "receive-cpu-ns-per-packet": return each("receive_cpu_ns")
    seen = got["copies"]["unique"] if kind == "sequences" else got["counts"]["processed"]
    since = sent["accepted"] + sent["warm_up_accepted"] + sent["filler_accepted"]
    if kind == "count": seen = since if seen is None else max(0, seen - sent["probe_accepted"])
    if metric == "process-cpu-ns-per-packet": return got["process_cpu_ns"] / seen
    beside = "receive_cpu_ns" if sent["receive_cpu_ns"] is not None else "coupled" in row["flags"] and "send_call_ns"
    return {"capture-cost-ns-per-packet": got["process_cpu_ns"] / seen + each(beside) - each(beside, control)}[metric]
def intervals(a, b, draws):  # of mean(b) / mean(a) at 95 and 90 %; quantiles of type 7 (Hyndman and Fan, 1996)
    n, ratio, found, rows = len(a), mean(b) / mean(a), [], range(0, len(draws), len(a))
    deltas = [y / mean(b) - x / mean(a) for x, y in zip(a, b)]
    if n > 1 and all(abs(d) <= 1e-12 * x / mean(a) for d, x in zip(deltas, a)): return [[ratio] * 4] * 4
    many = sorted(sum(b[i] for i in draws[k:k + n]) / sum(a[i] for i in draws[k:k + n]) for k in rows)
    ends = lambda p: [many[int(x)] + x % 1 * (many[int(x) + 1] - many[int(x)]) for x in (LAST * p, LAST * (1 - p))]
    for alpha, t in ((alpha, t_quantile(alpha, n - 1)) for alpha in ((0.05, 0.1) if n >= 6 else ())):
        wide = ends(erfc(sqrt(n / (n - 1) / 2) * t) / 2)  # expanded for few pairs (Hesterberg, 2015)
        student = [ratio * exp(side * t * sqrt(fsum(d * d for d in deltas) / (n * (n - 1)))) for side in (-1, 1)]
        found.append([ends(alpha / 2), wide, student, [min(wide + student), max(wide + student)]])
    return [one + other for one, other in zip(*found)] or [[]] * 4
def verdict(lo95, hi95, lo90, hi90, m):
    if m and (hi95 < 1 / (1 + m) or lo95 > 1 + m): return ("improved" if hi95 < 1 else "regressed") + "_worthwhile"
    if m and 1 / (1 + m) < lo90 and hi90 < 1 + m: return "equivalent"
    return "improved" if hi95 < 1 else "regressed" if lo95 > 1 else "inconclusive"
plan, rows, analysis = (open(name, "rb").read() for name in ("plan.json", "trials.jsonl", "analysis.json"))
same("chain", [json.loads(row)["prev"] for row in rows.splitlines()], map(sha, [plan] + rows.splitlines()[:-1]))
same("hashes", [json.loads(analysis)[name] for name in ("plan_sha256", "rows_sha256")], [sha(plan), sha(rows)])
plan, rows, compared = json.loads(plan), list(map(json.loads, rows.splitlines())), json.loads(analysis)["comparisons"]
design, names = plan["campaign"]["design"], [arm["name"] for arm in plan["campaign"]["arms"]]
metric, margin, first, done = design["primary"], design["margin"], design.get("reference", names[0]), [0, 0, 0]
for case, name in itertools.product(plan["campaign"]["cases"], [name for name in names if name != first]):
    own = next(c for c in compared if c["primary"] and (c["case"], c.get("arm", name)) == (case["name"], name))
    ok = {(row["pair"], row["arm"]): row for row in rows if row["case"] == own["case"] and row["outcome"] == "ok"}
    pairs = sorted(pair for pair, arm in ok if arm == first and all((pair, other) in ok for other in names))
    try: arms = [[float(value(metric, case["work"], ok[pair, arm])) for pair in pairs] for arm in (first, name)]
    except (TypeError, ZeroDivisionError): arms = [[], []]
    except KeyError: sys.exit(f"{metric} is not recomputed here; wiretrial verify does")
    costs = [[1 / x for x in arm] if metric == "units-per-second" else arm for arm in arms]
    seed = f"bootstrap\0{own['case']}\0".encode() + int(plan["seed"], 16).to_bytes(8, "little")
    seed, n = int.from_bytes(hashlib.sha256(seed).digest()[:8], "little"), len(pairs)
    draws = bytes(mix(seed + k * 0x9E3779B97F4A7C15 & MASK) * n >> 64 for k in range(1, DRAWS * n + 1))
    found = intervals(*costs, draws) if arms[0] and min(map(min, costs)) > 0 else [[]] * 4
    again = [x for pair in zip(*arms) for x in pair] + [sha(draws) if found[3] else None]
    same(f"values, index_sha256 of {own['case']}", sum(own["values"], []) + [own["index_sha256"]], again)
    for kind, ends in zip(("percentile", "expanded", "delta_t", "decision"), found):
        if metric == "units-per-second" and ends: ends = [1 / ends[i] for i in (1, 0, 3, 2)]
        same(f"{kind} interval of {own['case']}", [own[kind][end] for end in ("lo95", "hi95", "lo90", "hi90")], ends)
    by_guard = set(own["reasons"]) - {"spans_no_difference", "no_margin", "too_few_pairs"}
    if not by_guard: same(f"verdict of {own['case']}", [own["verdict"]], [verdict(*found[3] or (0, 2, 0, 2), margin)])
    done = [sum(two) for two in zip(done, (bool(found[3]), not by_guard, bool(by_guard)))]
print("{} rows, {} intervals, {} verdicts: equal; {} decided by guards".format(len(rows), *done))
