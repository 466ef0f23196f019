"""A layer of libgnn in operators of ONNX: project, aggregate, update, as lib/layer/layer.c has
them."""
import ctypes

import numpy as np

from .._table import abi as _abi
from .._library import struct
from . import NotExportable

MOST_DISTANCE = 1 << 20


def name_of(at):
    """The name of an entry of a table; None for no entry."""
    return ctypes.c_char_p.from_address(at).value.decode() if at else None


def options_of(at, kind, given):
    """An entry's options by name, with their initial values where none is given."""
    entry, made, size = struct(kind).from_address(at), {}, ctypes.sizeof(struct("gnn_option_t"))
    for k in range(entry.n_options):
        o = struct("gnn_option_t").from_address(entry.options + k * size)
        value = o.initial if given[k] == 0 else given[k]
        made[o.name.decode()] = 0.0 if abs(value) < 1e-30 else value
    return made


def word(enum, prefix, value):
    """The name of an enumerator in lower case."""
    return next(n[len(prefix):].lower() for n, v in _abi.ENUMS[enum].items() if v == value)


def activation_name(value):
    return word("gnn_activation_t", "GNN_", value) if value else "identity"


def norm_name(value):
    made = word("gnn_norm_t", "GNN_NORM_", value)
    return "layer" if made == "default" else made


ON = _abi.CONSTANTS["GNN_ON"]


class Rows:
    """Values of senders, receivers and edges that enter an aggregation."""

    def __init__(self, message=None, dst_message=None, query=None, key=None, edge_message=None, edge_key=None, weight=None, bias=None, gate=None,
                 prior_query=None, priors=(None, None, None)):
        self.message, self.dst_message, self.query, self.key = message, dst_message, query, key
        self.edge_message, self.edge_key, self.weight, self.bias, self.gate = edge_message, edge_key, weight, bias, gate
        self.prior_query, self.priors = prior_query, priors


class Aggregation:
    """sum over j of w_ij m_ij, and the other entries of aggregators.def."""

    def __init__(self, writer, config, slot, value, where):
        self.w, self.c, self.slot, self.value, self.where = writer, config, slot, value, where
        self.loops = config.self_loops == ON
        self.name = name_of(config.aggregator)
        self.norm = word("gnn_graph_norm_t", "GNN_GRAPH_NORM_", config.graph_norm)

    def refuse(self, what):
        raise NotExportable(f"{self.where}: {what} has no counterpart in ONNX's operators")

    # ---- rows of pairs ----

    def padded(self, x, value=0.0):
        """Values on edges, and `value` for the self-loops of the view."""
        p, w = self.p, self.w
        if x is None or p.loops is None:
            return x
        return w.op("Concat", x, w.full(value, w.rows(p.loops), w.op("Shape", x, start=1, end=2)), axis=0)

    def weight_of_pairs(self, given):
        """Edge weights with the norm by degrees; None: all are 1."""
        w, p, c = self.w, self.p, self.c
        heavy = self.loops and c.loop_weight != 1
        weight = self.padded(given, c.loop_weight if self.norm in ("symmetric", "row") else 1.0)
        if self.norm not in ("symmetric", "row"):
            return weight
        if weight is None:
            weight = w.full(1.0, w.rows(p.src), 1)
            if heavy and p.loops is not None:
                weight = w.op("Concat", w.full(1.0, p.edges, 1), w.full(c.loop_weight, w.rows(p.loops), 1), axis=0)
        degree = w.scatter(weight, p.dst, p.n_dst, width=1)
        known = w.op("Greater", degree, w.f(0))
        safe = w.op("Where", known, degree, w.f(1))
        if self.norm == "row":
            return w.mul(weight, w.gather(w.op("Where", known, w.op("Reciprocal", safe), w.f(0)), p.dst))
        root = w.op("Where", known, w.op("Reciprocal", w.op("Sqrt", safe)), w.f(0))
        return w.mul(w.mul(weight, w.gather(root, p.src)), w.gather(root, p.dst))

    def messages(self, rows):
        """m_ij of every pair."""
        w, p, kind = self.w, self.p, name_of(self.c.message)
        x, e = w.gather(rows.message, p.src), rows.edge_message
        if kind in ("none", "linear"):
            return x
        if kind == "linear_edge":
            return x if e is None else w.add(x, e)
        if kind == "relu_sum":
            return w.op("Relu", x if e is None else w.add(x, e))
        if kind == "gate":
            two = w.op("Shape", w.gather(rows.dst_message, p.dst), start=1, end=2)
            opened, values = w.op("Slice", x, w.i(0), two, w.i(1)), w.op("Slice", x, two, w.i(1 << 40), w.i(1))
            opened = w.add(opened, w.gather(rows.dst_message, p.dst))
            if e is not None:
                opened = w.add(opened, w.op("Slice", e, w.i(0), two, w.i(1)))
                values = w.add(values, w.op("Slice", e, two, w.i(1 << 40), w.i(1)))
            return w.mul(w.op("Sigmoid", opened), values)
        return self.refuse(f"message {kind}")

    # ---- without scores ----

    def plain(self, rows):
        w, p = self.w, self.p
        m, weight = self.messages(rows), self.weight_of_pairs(rows.weight)
        m = m if weight is None else w.mul(m, weight)
        if self.name == "sum":
            return w.scatter(m, p.dst, p.n_dst)
        count = w.scatter(w.full(1.0, w.rows(p.src), 1), p.dst, p.n_dst, width=1)
        if self.name == "mean":
            return w.ratio(w.scatter(m, p.dst, p.n_dst), count)
        if self.name in ("max", "min"):
            best = w.scatter(m, p.dst, p.n_dst, -3.4e38 if self.name == "max" else 3.4e38, self.name)
            return w.op("Where", w.op("Greater", count, w.f(0)), best, w.f(0))
        if self.name in ("var", "std"):
            off = w.sub(m, w.gather(w.ratio(w.scatter(m, p.dst, p.n_dst), count), p.dst))
            variance = w.ratio(w.scatter(w.mul(off, off), p.dst, p.n_dst), count)
            if self.name == "var":
                return variance
            return w.op("Where", w.op("Greater", variance, w.f(1e-5)), w.op("Sqrt", w.op("Max", variance, w.f(0))), w.f(0))
        if self.name == "softmax_mean":
            weights = self.softmax(w.mul(m, self.value("temperature")))
            return w.scatter(w.mul(weights, m), p.dst, p.n_dst)
        return self.refuse(f"aggregator {self.name}")

    # ---- scores ----

    def heads(self, x, own, width=None):
        """Head `a` of `own` heads for each of the heads of queries: (rows, heads, width [d_k])."""
        w, h = self.w, self.c.heads
        x = w.reshape(x, -1, own, self.c.d_k if width is None else width)
        return x if own == h else w.op("Gather", x, w.constant(np.arange(h, dtype=np.int64) // (h // own)), axis=1)

    def mapped(self, x, own, side):
        """Queries or keys after the map; `side`: whose rows they are."""
        w, c, kind = self.w, self.c, name_of(self.c.map)
        if kind in (None, "none"):
            return x
        if kind == "relu":
            return w.op("Relu", x)
        if kind == "elu1":
            return w.add(w.op("Elu", x, alpha=1.0), w.f(1))
        if kind == "l2":
            return w.reshape(w.unit(w.reshape(x, -1, own, c.d_k), 2), -1, own * c.d_k)
        if kind == "rope":
            return self.rotated(x, own, options_of(c.map, "gnn_map_t", c.map_options), side)
        return self.refuse(f"map {kind}")

    def rotated(self, x, own, o, side):
        """Rope: pairs of values by angles in proportion to the position."""
        w, d = self.w, self.c.d_k
        width = int(o["width"]) or d
        if not self.slot.positions:
            self.refuse(f"map rope on a graph of the kind {self.slot.kind!r}, whose nodes have no positions,")
        at = w.op("Cast", self.slot.position(side), to=11)  # double
        rates = w.constant(o["base"] ** (-2 * np.arange(width // 2) / width)[None] / o["factor"])
        angle = w.cast(w.op("Mod", w.mul(at, rates), w.constant(np.array(2 * np.pi)), fmod=1))
        cos, sin = (w.op("Unsqueeze", w.op(f, angle), w.i(1)) for f in ("Cos", "Sin"))
        x = w.reshape(x, -1, own, d)
        even, odd = (np.arange(0, width, 2), np.arange(1, width, 2)) if o["adjacent"] else (np.arange(width // 2), np.arange(width // 2, width))
        u, v = (w.op("Gather", x, w.constant(ids.astype(np.int64)), axis=2) for ids in (even, odd))
        a, b = w.sub(w.mul(u, cos), w.mul(v, sin)), w.add(w.mul(u, sin), w.mul(v, cos))
        rest = [w.op("Gather", x, w.constant(np.arange(width, d)), axis=2)] if width < d else []
        order = np.argsort(np.concatenate([even, odd, np.arange(width, d)])).astype(np.int64)
        made = w.op("Gather", w.op("Concat", a, b, *rest, axis=2), w.constant(order), axis=2)
        return w.reshape(made, -1, own * d)

    def bucket(self, o, distance):
        """Rows of a table by distance: the rule for all distances up to the reach, as a constant."""
        w, n, rule = self.w, int(o["buckets"]), int(o["rule"])
        most = int(max(n, o["reach"])) + 2
        if most > MOST_DISTANCE:
            self.refuse(f"a table of {most} distances")
        table = np.array([bucket(n, rule, o["reach"], d) for d in range(-most, most + 1)], np.int64)
        at = w.op("Max", w.op("Min", distance, w.constant(np.array(most, np.int64))), w.constant(np.array(-most, np.int64)))
        return w.gather(w.constant(table), w.add(at, w.constant(np.array(most, np.int64))))

    def terms(self, rows, pairs):
        """The edge bias and the priors (pairs, heads); None: there are none. `pairs`: of senders
        and receivers."""
        w, c, made = self.w, self.c, []
        src, dst = pairs
        if rows.bias is not None:
            made.append(self.padded(rows.bias))
        for k in range(3):
            if c.priors[k].prior:
                made.append(self.prior(k, rows, src, dst))
        total = None
        for term in made:
            total = term if total is None else w.add(total, term)
        return total

    def distance(self, src, dst):
        if not self.slot.positions:
            self.refuse(f"a prior by distance on a graph of the kind {self.slot.kind!r}, whose nodes have no positions,")
        w = self.w
        senders, receivers = (w.reshape(self.slot.position(side), -1) for side in ("sender", "receiver"))
        return w.sub(w.gather(senders, src), w.gather(receivers, dst))

    def prior(self, k, rows, src, dst):
        w, c, kind = self.w, self.c, name_of(self.c.priors[k].prior)
        o = options_of(c.priors[k].prior, "gnn_prior_t", c.priors[k].options)
        names = {"slope": "slopes", "slope_absolute": "slopes", "table": "table", "keys": "keys", "sender_keys": "queries"}
        values = rows.priors[k] if rows.priors[k] is not None else self.value(f"prior_{k}.{names[kind]}") if kind in names else None
        if kind in ("receiver", "sender"):
            return w.gather(values, dst if kind == "receiver" else src)
        if kind == "decay":  # the sum of the gates of the rows after the sender, up to the receiver
            if not self.slot.square:
                self.refuse(f"prior decay on a graph of the kind {self.slot.kind!r}, whose receivers are not its senders,")
            upto = w.op("CumSum", w.op("Cast", values, to=11), w.constant(np.array(0, np.int64)))  # double
            return w.cast(w.sub(w.gather(upto, dst), w.gather(upto, src)))
        distance = self.distance(src, dst)
        if kind in ("slope", "slope_absolute"):
            far = w.cast(w.op("Unsqueeze", distance, w.i(1)))
            return w.mul(values, far if kind == "slope" else w.op("Neg", w.op("Abs", far)))
        if kind == "table":
            if o["part"]:
                self.refuse("prior table of one part of a graph")
            return w.gather(w.op("Transpose", values, perm=[1, 0]), self.bucket(o, distance))
        if kind in ("keys", "sender_keys"):
            x = rows.prior_query if rows.prior_query is not None and kind == "keys" else rows.query if kind == "keys" else rows.key
            x = w.gather(self.heads(x, c.heads if kind == "keys" else c.key_heads), dst if kind == "keys" else src)
            a = w.reshape(w.gather(values, self.bucket(o, distance)), -1, 1 if o["shared"] else c.heads, c.d_k)
            return w.mul(w.f(c.scale), w.op("ReduceSum", w.mul(x, a), w.i(2), keepdims=0))
        return self.refuse(f"prior {kind}")

    def scores(self, rows):
        """Scores of pairs (pairs, heads), after the cap and before the terms."""
        w, p, c, kind = self.w, self.p, self.c, name_of(self.c.score)
        if kind == "additive":
            s = w.add(w.gather(rows.query, p.dst), w.gather(rows.key, p.src))
            s = w.op("LeakyRelu", s if rows.edge_key is None else w.add(s, rows.edge_key), alpha=float(c.slope))
        else:
            key = w.gather(rows.key, p.src)
            key = self.heads(key if rows.edge_key is None else w.add(key, rows.edge_key), c.key_heads)
            query = w.gather(self.heads(rows.query, c.heads), p.dst)
            if kind == "dot":
                s = w.mul(w.f(c.scale), w.op("ReduceSum", w.mul(query, key), w.i(2), keepdims=0))
            elif kind in ("additive_v2", "additive_tanh"):
                both = w.add(query, key)
                both = w.op("LeakyRelu", both, alpha=float(c.slope)) if kind == "additive_v2" else w.op("Tanh", both)
                s = w.op("ReduceSum", w.mul(both, w.reshape(self.value("attention.vector"), 1, c.heads, c.d_k)), w.i(2), keepdims=0)
            else:
                self.refuse(f"score {kind}")
        return w.mul(w.f(c.softcap), w.op("Tanh", w.div(s, w.f(c.softcap)))) if c.softcap > 0 else s

    def softmax(self, s, sink=None):
        """max, sub, exp, sum over the senders of a receiver."""
        w, p = self.w, self.p
        most = w.scatter(s, p.dst, p.n_dst, -3.4e38, "max")
        most = most if sink is None else w.op("Max", most, sink)
        e = w.op("Exp", w.sub(s, w.gather(most, p.dst)))
        total = w.scatter(e, p.dst, p.n_dst)
        total = total if sink is None else w.add(total, w.op("Exp", w.sub(sink, most)))
        return w.ratio(e, w.gather(total, p.dst))

    def weights(self, rows):
        w, p, c, kind = self.w, self.p, self.c, name_of(self.c.weigher) or "softmax"
        s, terms = self.scores(rows), self.terms(rows, (p.src, p.dst))
        if kind in ("decay", "ratio"):
            s = s if terms is None else w.mul(s, w.op("Exp", terms))
            if kind == "decay":
                return s
            eps = options_of(c.weigher, "gnn_weigher_t", c.weigher_options)["eps"]
            return w.ratio(s, w.gather(w.add(w.scatter(s, p.dst, p.n_dst), w.f(eps)), p.dst))
        s = s if terms is None else w.add(s, terms)
        if kind == "linear":
            return s
        if kind in ("softmax", "softmax_sink"):
            return self.softmax(s, self.value("attention.sink") if kind == "softmax_sink" else None)
        if kind == "sigmoid":
            if next(iter(options_of(c.weigher, "gnn_weigher_t", c.weigher_options).values()), 0) > 0:
                count = w.scatter(w.full(1.0, w.rows(p.src), 1), p.dst, p.n_dst, width=1)
                s = w.sub(s, w.op("Log", w.gather(count, p.dst)))
            return w.op("Sigmoid", s)
        return self.refuse(f"weigher {kind}")

    def scored(self, rows):
        """Attention over pairs."""
        w, p, c = self.w, self.p, self.c
        m, alpha = self.messages(rows), self.weights(rows)
        weight = self.weight_of_pairs(rows.weight)
        alpha = alpha if weight is None else w.mul(alpha, weight)
        y = w.mul(self.heads(m, c.value_heads, c.d_v), w.op("Unsqueeze", alpha, w.i(2)))
        return w.scatter(w.reshape(y, -1, c.heads * c.d_v), p.dst, p.n_dst)

    def takes_dense(self, rows):
        """True for the standard pattern: softmax(scale Q K^T + mask) V on a graph of all pairs of
        nodes."""
        c = self.c
        return (self.slot.dense and name_of(c.score) == "dot" and (name_of(c.weigher) or "softmax") == "softmax" and self.norm not in ("symmetric", "row")
                and name_of(c.message) in ("none", "linear") and rows.weight is None and rows.bias is None and not any(p.prior for p in c.priors))

    def dense(self, rows):
        w, c = self.w, self.c
        q, k, v = self.heads(rows.query, c.heads), self.heads(rows.key, c.key_heads), self.heads(rows.message, c.value_heads, c.d_v)
        s = w.mul(w.f(c.scale), w.op("MatMul", w.op("Transpose", q, perm=[1, 0, 2]), w.op("Transpose", k, perm=[1, 2, 0])))
        if c.softcap > 0:
            s = w.mul(w.f(c.softcap), w.op("Tanh", w.div(s, w.f(c.softcap))))
        mask = self.slot.mask()
        if mask is not None:
            s = w.op("Where", mask, s, w.f(-3.4e38))
        y = w.op("MatMul", w.op("Softmax", s, axis=-1), w.op("Transpose", v, perm=[1, 0, 2]))
        return w.reshape(w.op("Transpose", y, perm=[1, 0, 2]), -1, c.heads * c.d_v)

    def run(self, rows):
        """The aggregate (receivers, columns)."""
        w, c = self.w, self.c
        attends = self.name == "attention"
        if attends and name_of(c.score) != "additive":
            rows.query, rows.key = self.mapped(rows.query, c.heads, "receiver"), self.mapped(rows.key, c.key_heads, "sender")
        if attends and self.takes_dense(rows):
            y = self.dense(rows)
        else:
            self.p = self.slot.view(self.loops)
            y = self.scored(rows) if attends else self.plain(rows)
        if rows.gate is not None:
            width = c.heads if attends else 1
            y = w.reshape(w.mul(w.reshape(y, w.rows(y), width, -1), w.op("Unsqueeze", rows.gate, w.i(2))), w.rows(y), -1)
        if attends and c.combine == _abi.CONSTANTS["GNN_HEADS_AVERAGE"] and c.heads > 1:
            y = w.op("ReduceMean", w.reshape(y, -1, c.heads, c.d_v), w.i(1), keepdims=0)
        return y


def bucket(n, rule, reach, distance):
    """Rows of tables by distance (lib/aggregate/buckets.c)."""
    rules = _abi.ENUMS["gnn_bucket_t"]

    def clip(row):
        return max(min(row, n - 1), 0)

    def logarithm(n, distance):
        exact = n // 2
        if distance < exact or n < 2:
            return min(distance, n - 1)
        if distance >= reach:
            return n - 1
        at = exact + np.log(distance / exact) / np.log(reach / exact) * (n - exact)
        return int(at) if at < n - 1 else n - 1
    if rule == rules["GNN_BUCKET_CLIP_CAUSAL"]:
        return clip(distance + n - 1)
    if rule == rules["GNN_BUCKET_LOG"]:
        return (n // 2 if distance > 0 else 0) + logarithm(max(n // 2, 1), abs(distance))
    if rule == rules["GNN_BUCKET_LOG_CAUSAL"]:
        return logarithm(n, max(-distance, 0))
    if rule == rules["GNN_BUCKET_CLIP_BACK"]:
        return clip(n // 2 - distance)
    if rule == rules["GNN_BUCKET_LOG_BACK"]:
        span, length = n // 2, abs(distance)
        middle, steps = span // 2, length
        if length > middle > 0 and reach - 1 > middle:
            steps = middle + int(min(np.ceil(np.log(length / middle) / np.log((reach - 1) / middle) * (middle - 1)), span))
        return clip(span + (steps if distance < 0 else -steps))
    return clip(distance + n // 2)


class LayerRows:
    """One layer: `value` gives a field as an operand, or None."""

    def __init__(self, writer, config, slot, value, running, where):
        self.w, self.c, self.slot, self.value, self.running, self.where = writer, config, slot, value, running, where

    def linear(self, name, x):
        return self.w.linear(x, self.value(name + ".weight"), self.value(name + ".bias"))

    def biased(self, name, x):
        bias = self.value(name + ".bias")
        return x if bias is None else self.w.add(x, bias)

    def norm(self, name, x):
        c = self.c
        return self.w.norm(norm_name(c.norm), x, c.norm_eps, self.value(name + ".gain"), self.value(name + ".shift"), self.running(name))

    @property
    def before(self):
        return norm_name(self.c.norm) != "none" and self.c.norm_position == _abi.CONSTANTS["GNN_NORM_BEFORE"]

    def residual_norm(self, name, x, u):
        u = self.w.add(x, u) if self.c.residual == ON else u
        return self.norm(name, u) if norm_name(self.c.norm) != "none" and not self.before else u

    def part(self, x, *fields):
        """x times the columns of several fields."""
        made = [self.w.linear(x, self.value(f + ".weight"), self.value(f + ".bias")) for f in fields if self.value(f + ".weight") is not None]
        return None if not made else made[0] if len(made) == 1 else self.w.op("Concat", *made, axis=1)

    def receivers(self, x, given):
        return x if given or self.slot.square else self.w.first_rows(x, self.slot.pairs().n_dst)

    def edges(self, agg, e):
        """Projected edge features for messages, and for keys."""
        w, c = self.w, self.c
        p = agg.slot.view(agg.loops)
        agg.p = p
        if agg.loops and c.loop_features == ON:
            e = self.loop_features(p, e)
        parts = struct("gnn_message_t").from_address(c.message).edge_parts
        padded = (lambda x: x) if agg.loops and c.loop_features == ON else agg.padded
        message = padded(self.linear("edge", e)) if parts else None
        key = None
        if agg.name == "attention":
            if name_of(c.score) == "additive":
                weight = w.op("ReduceSum", w.mul(w.reshape(self.value("edge.weight"), -1, c.heads, c.d_k), w.reshape(self.value("attention.edge"), 1, c.heads, c.d_k)), w.i(2), keepdims=0)
            else:
                weight = self.value("edge.weight")
            key = padded(w.op("MatMul", e, weight))
        return message, key

    def loop_features(self, p, e):
        """The mean of the other edges of a receiver, for the loops that it has and for those of the
        view."""
        w = self.w
        src, dst = (w.op("Slice", x, w.i(0), p.edges, w.i(0)) for x in (p.src, p.dst))
        own = w.op("Unsqueeze", w.op("Equal", src, dst), w.i(1))
        other = w.cast(w.op("Not", own))
        mean = w.ratio(w.scatter(w.mul(e, other), dst, p.n_dst), w.scatter(other, dst, p.n_dst, width=1))
        e = w.op("Where", own, w.gather(mean, dst), e)
        return e if p.loops is None else w.op("Concat", e, w.gather(mean, p.loops), axis=0)

    def query_key(self, source_x, target_x, given):
        w, c = self.w, self.c
        own = self.value("key.weight") is not None
        field = "key" if own else "value"
        key = self.part(source_x, field)
        shared = c.share_weights == ON
        query = self.part(target_x, field if shared else "query")
        for name in ("key_norm.gain", "query_norm.gain"):
            gain = self.value(name)
            if gain is not None:
                rows, own = (key, c.key_heads) if name[0] == "k" else (query, c.heads)
                if c.qk_norm_heads == ON:
                    rows = w.reshape(rows, -1, own, c.d_k)
                    rows = w.reshape(w.mul(w.div(rows, w.rms(rows, c.norm_eps, 2)), gain), -1, own * c.d_k)
                else:
                    rows = w.mul(w.div(rows, w.rms(rows, c.norm_eps)), gain)
                key, query = (rows, query) if name[0] == "k" else (key, rows)
        if name_of(c.score) == "additive":
            key, query = (w.op("ReduceSum", w.mul(w.reshape(x, -1, c.heads, c.d_k), w.reshape(self.value(f"attention.{side}"), 1, c.heads, c.d_k)), w.i(2), keepdims=0)
                          for x, side in ((key, "sender"), (query, "receiver")))
        return query, key

    def run(self, x_src, x_dst=None, edge_features=None, weight=None, bias=None, gate=None, prior_query=None, priors=(None, None, None)):
        w, c = self.w, self.c
        given = x_dst is not None
        agg = Aggregation(w, c, self.slot, self.value, self.where)
        x_dst = self.receivers(x_src, False) if not given else x_dst
        normed_src = self.norm("norm", x_src) if self.before and not given else x_src
        normed_dst = (self.norm("norm", x_dst) if given else self.receivers(normed_src, False)) if self.before else x_dst
        projects = struct("gnn_message_t").from_address(c.message).projects
        rows = Rows(weight=weight, bias=bias, gate=gate, prior_query=prior_query, priors=priors)
        rows.message = self.part(normed_src, "gate_sender", "value") if projects else normed_src
        rows.dst_message = self.part(normed_dst, "gate_receiver")
        if agg.name == "attention":
            rows.query, rows.key = self.query_key(normed_src, normed_dst, given)
        if c.edge_dim > 0:
            rows.edge_message, rows.edge_key = self.edges(agg, edge_features)
        return self.update(x_dst, normed_dst, agg.run(rows))

    # ---- updates ----

    def update(self, x, normed, a):
        w, c, kind = self.w, self.c, name_of(self.c.update)
        if not hasattr(self, "update_" + kind):
            raise NotExportable(f"{self.where}: update {kind} has no counterpart in ONNX's operators")
        self_term = self.linear("self", normed) if c.self_term == ON else None
        u = getattr(self, "update_" + kind)(x, a, self_term)
        if self_term is not None and kind != "beta":
            u = w.add(u, self_term)
        u = self.residual_norm("norm", x, u)
        if kind in ("feed_forward", "gated"):
            u = self.feed_forward(u, kind == "gated")
        return w.activation(u, activation_name(c.activation))

    def update_none(self, x, a, _):
        return self.biased("out", a)

    def update_linear(self, x, a, _):
        return self.linear("out", a)

    update_feed_forward = update_gated = update_linear

    def update_mlp(self, x, a, _):
        w, eps = self.w, self.value("eps")
        factor = w.add(eps, w.f(1)) if eps is not None else w.f(1 + self.c.eps)
        z = self.linear("mlp.0", w.add(a, w.mul(x, factor)))
        return self.biased("out", self.linear("mlp.1", w.activation(z, activation_name(self.c.hidden_activation))))

    def update_gru(self, x, a, _):
        w = self.w
        xs, hs = (w.op("Reshape", self.linear(n, v), w.i(0, 3, -1)) for n, v in (("gru.input", a), ("gru.hidden", x)))
        (xr, xz, xn), (hr, hz, hn) = ([w.op("Gather", v, w.constant(np.array(k, np.int64)), axis=1) for k in range(3)] for v in (xs, hs))
        r, z = w.op("Sigmoid", w.add(xr, hr)), w.op("Sigmoid", w.add(xz, hz))
        n = w.op("Tanh", w.add(xn, w.mul(r, hn)))
        return self.biased("out", w.add(n, w.mul(z, w.sub(x, n))))

    def update_beta(self, x, a, r):
        w = self.w
        b = w.op("Sigmoid", self.linear("beta", w.op("Concat", a, r, w.sub(a, r), axis=1)))
        return self.biased("out", w.add(a, w.mul(w.sub(r, a), b)))

    def feed_forward(self, z, gated):
        w, f = self.w, activation_name(self.c.hidden_activation)
        u = self.norm("norm2", z) if self.before else z
        inner = w.activation(self.linear("ffn.0", u), f) if not gated else w.mul(self.linear("ffn.0", u), w.activation(self.linear("ffn.gate", u), f))
        return self.residual_norm("norm2", z, self.linear("ffn.1", inner))
