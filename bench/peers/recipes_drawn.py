"""Random sets whose features, links, labels and splits differ in kind: {name: function of a random
generator}.

A function returns what recipes.py reads of a .npz: x, labels (classes, or 0 and 1 in columns), edges (2 x m) and, where the rule of drawn splits does not fit, the
shares of training and validation.
"""
import numpy


def partition(draw, sizes, inside, outside):
    """Links of a planted partition; inside and outside: expected neighbours of a node."""
    y = numpy.repeat(numpy.arange(len(sizes)), sizes)
    n = len(y)
    same = y[:, None] == y[None, :]
    p = numpy.where(same, inside / numpy.asarray(sizes)[y][:, None], outside / (n - numpy.asarray(sizes)[y][:, None]))
    return y, numpy.stack(numpy.nonzero(numpy.triu(draw.random((n, n)) < p, 1)))


def gaussian(draw, y, columns, distance):
    return draw.normal(size=(len(y), columns)) + distance * draw.normal(size=(y.max() + 1, columns))[y] / numpy.sqrt(columns / 4)


def word_counts(draw, y, words, length, sharpness):
    """Texts by Zipf's law whose class raises some words, of lengths that differ much."""
    base = 1 / (1 + draw.permutation(words))
    topics = base * draw.gamma(sharpness, 1 / sharpness, size=(y.max() + 1, words))
    topics /= topics.sum(1, keepdims=True)
    lengths = numpy.maximum(2, draw.lognormal(numpy.log(length), 0.8, len(y))).astype(int)
    return numpy.stack([draw.multinomial(k, topics[c]) for k, c in zip(lengths, y)]).astype(float)


def gauss(draw):
    y, edges = partition(draw, [400] * 5, 4, 3)
    return gaussian(draw, y, 32, 1.2), y, edges


def embeddings(draw):
    """As a text encoder makes them: length 1, no zeros."""
    y, edges = partition(draw, [400] * 5, 4, 3)
    x = gaussian(draw, y, 128, 1.0)
    return x / numpy.linalg.norm(x, axis=1, keepdims=True), y, edges


def bag(draw):
    y, edges = partition(draw, [300] * 6, 4, 2)
    return (word_counts(draw, y, 800, 20, 1.0) > 0).astype(float), y, edges


def counts(draw):
    y, edges = partition(draw, [300] * 6, 4, 2)
    return word_counts(draw, y, 300, 60, 2.0), y, edges


def constant(draw):
    """One column of ones: classes differ by their degrees."""
    sizes = [400] * 3
    y = numpy.repeat(numpy.arange(3), sizes)
    wish = numpy.array([3, 8, 20])[y] * draw.gamma(8, 1 / 8, len(y))
    p = numpy.minimum(1, numpy.outer(wish, wish) / wish.sum())
    return numpy.ones((len(y), 1)), y, numpy.stack(numpy.nonzero(numpy.triu(draw.random(p.shape) < p, 1)))


def scales(draw):
    """Real values from thousandths to ten thousands, some far from 0, one of them skewed."""
    y, edges = partition(draw, [400] * 4, 4, 3)
    x = gaussian(draw, y, 12, 1.5) * 10 ** draw.uniform(-3, 4, 12) + 10 ** draw.uniform(-3, 4, 12)
    x[:, 0] = numpy.exp(x[:, 0] / x[:, 0].std())
    return x, y, edges


def skewed(draw):
    """Amounts: positive, over six orders of magnitude; their logarithms are Gaussian."""
    y, edges = partition(draw, [400] * 4, 4, 3)
    return numpy.exp(2.0 * gaussian(draw, y, 10, 1.5)), y, edges


def rare(draw):
    """Few columns that are mostly 0, else large."""
    y, edges = partition(draw, [400] * 4, 4, 3)
    x = numpy.maximum(0, gaussian(draw, y, 40, 1.5) - 1.0) * 1000
    return x, y, edges


def tiny(draw):
    y, edges = partition(draw, [14] * 3, 4, 1)
    return gaussian(draw, y, 8, 1.0), y, edges, (0.4, 0.2)


def imbalanced(draw):
    y, edges = partition(draw, [1800, 120, 80], 5, 3)
    return gaussian(draw, y, 16, 1.0), y, edges, (0.5, 0.25)


def identity(draw):
    """A column for each node: classes are in the links alone."""
    y, edges = partition(draw, [200] * 4, 8, 4)
    return numpy.eye(len(y)), y, edges


def opposite(draw):
    """Links that avoid a node's own class, Gaussian features, many labels."""
    y, edges = partition(draw, [500] * 4, 1, 9)
    return gaussian(draw, y, 16, 0.7), y, edges, (0.6, 0.2)


def unrelated(draw):
    """Links that know nothing of classes; words do."""
    y, edges = partition(draw, [300] * 4, 2, 6)
    return (word_counts(draw, y, 500, 25, 1.0) > 0).astype(float), y, edges, (0.5, 0.25)


def noval(draw):
    """No validation nodes."""
    y, edges = partition(draw, [300] * 5, 4, 2)
    return (word_counts(draw, y, 500, 20, 1.0) > 0).astype(float), y, edges, (0.1, 0)


def several(draw, nodes=1500, groups=20, labels=25, columns=50, words=False):
    """Overlapping groups with links within groups; labels depend on the groups of a node and of its
    neighbours."""
    of = draw.random((nodes, groups)) < 2.5 / groups
    score = of.astype(float) @ of.T
    numpy.fill_diagonal(score, 0)
    edges = numpy.stack(numpy.nonzero(numpy.triu(draw.random((nodes, nodes)) < numpy.minimum(1, 0.05 * score + 0.001), 1)))
    both = numpy.zeros((nodes, nodes))
    both[edges[0], edges[1]] = both[edges[1], edges[0]] = 1
    around = both @ of / numpy.maximum(both.sum(1, keepdims=True), 1)
    z = of @ draw.normal(size=(groups, labels)) + 2.1 * around @ draw.normal(size=(groups, labels))
    y = (z > numpy.quantile(z, 0.7, axis=0)).astype(int)
    if words:
        x = (draw.random((nodes, 600)) < numpy.minimum(0.5, 0.01 + of @ (draw.random((groups, 600)) < 0.05) * 0.15)).astype(float)
    else:
        x = of @ draw.normal(size=(groups, columns)) + 1.5 * draw.normal(size=(nodes, columns))
    return x, y, edges, (0.6, 0.2)


def several_words(draw):
    return several(draw, words=True)


def several_few(draw):
    """Several labels, few labelled nodes."""
    return several(draw)[:3] + ((0.1, 0.1),)


def topics(draw):
    """Short texts of topics that share many words, few labels, links within topics."""
    y, edges = partition(draw, [110, 90, 150, 80, 120, 100], 5, 2)
    base = draw.dirichlet(numpy.full(300, 0.3), 6)
    return numpy.stack([draw.multinomial(12, 0.6 * base[c] + 0.4 / 300) for c in y]).astype(float), y, edges


def cycle(draw):
    """Links go from each class to the next one, weak Gaussian features."""
    y, edges = partition(draw, [200] * 4, 0.5, 2)
    n = len(y)
    ring = numpy.stack(numpy.nonzero(draw.random((n, n)) < numpy.where((y[:, None] + 1) % 4 == y[None, :], 6 / 200, 0)))
    return gaussian(draw, y, 24, 1.2), y, numpy.concatenate([edges, ring], 1)


def couples(draw):
    """Each class links to its partner class, few links within; short texts."""
    y, edges = partition(draw, [220, 180, 200, 160], 1, 1)
    n = len(y)
    ring = numpy.stack(numpy.nonzero(numpy.triu(draw.random((n, n)) < numpy.where((y[:, None] ^ 1) == y[None, :], 5 / 190, 0), 1)))
    return (word_counts(draw, y, 400, 15, 0.8) > 0).astype(float), y, numpy.concatenate([edges, ring], 1)


def islands(draw):
    """Two nodes of five have no links."""
    y, edges = partition(draw, [250] * 4, 7, 3)
    alone = draw.random(len(y)) < 0.4
    return gaussian(draw, y, 20, 1.0), y, edges[:, ~alone[edges].any(0)]


def lopsided(draw):
    """Two classes, one node of twenty in the second, most of whose links leave it."""
    y, edges = partition(draw, [1425, 75], 1, 4)
    return gaussian(draw, y, 12, 0.6), y, edges, (0.5, 0.25)


def wild(draw):
    """Columns from 1e-6 to 1e6, some heavy-tailed, some constant, some almost always 0; links across
    classes."""
    y, edges = partition(draw, [300] * 3, 2, 6)
    x = gaussian(draw, y, 16, 1.2)
    x[:, :4] = numpy.sinh(2 * x[:, :4])
    x[:, 4:6] *= draw.random((len(y), 2)) < 0.1
    x = x * 10 ** draw.uniform(-6, 6, 16)
    x[:, 6] = 1e5
    return x, y, edges, (0.3, 0.2)


def ledger(draw):
    """Amounts in columns of different units, most of them 0."""
    y, edges = partition(draw, [300] * 4, 4, 3)
    amounts = numpy.exp(0.5 * gaussian(draw, y, 30, 1.5)) * (draw.random((len(y), 30)) < 0.3)
    return amounts * 10 ** draw.uniform(-3, 4, 30), y, edges


def signed(draw):
    """Real values of different units, positive and negative, nine of ten are 0."""
    y, edges = partition(draw, [300] * 4, 4, 3)
    x = gaussian(draw, y, 60, 3.0) * (draw.random((len(y), 60)) < 0.1)
    return x * 10 ** draw.uniform(-3, 4, 60), y, edges


def embedded(draw, latent, columns, noise):
    """Embeddings of latent vectors: small values around a mean above 0."""
    mapped = latent @ draw.normal(size=(latent.shape[1], columns)) / numpy.sqrt(latent.shape[1])
    return (0.1 * (numpy.tanh(mapped) + noise * draw.normal(size=mapped.shape)) + 0.02).astype(numpy.float32)


def chain(draw, n=4000, words=600, classes=12):
    """A text as a chain of words with some longer links; classes follow from a word and its
    neighbours, features are embeddings of words."""
    word = draw.integers(0, words, n)
    latent = numpy.eye(8)[draw.integers(0, 8, words)][word] + 0.7 * draw.normal(size=(words, 8))[word]
    far = numpy.stack([numpy.arange(n - 3), numpy.arange(3, n)])[:, draw.random(n - 3) < 0.45]
    edges = numpy.concatenate([numpy.stack([numpy.arange(n - 1), numpy.arange(1, n)]), far], 1)
    around = numpy.zeros((n, 8))
    numpy.add.at(around, edges[1], latent[edges[0]])
    y = (latent @ draw.normal(size=(8, classes)) + 0.8 * around @ draw.normal(size=(8, classes))).argmax(1)
    return embedded(draw, latent, 100, 0.3), y, edges, (0.5, 0.25)


def articles(draw):
    """Mean word vectors, many links within subjects, labels on 5 in 100 nodes."""
    y, edges = partition(draw, [500, 300, 250, 200, 200, 150, 150, 100, 80, 70], 24, 13)
    return embedded(draw, 1.3 * numpy.eye(10)[y] + 0.9 * draw.normal(size=(len(y), 10)), 150, 0.6), y, edges, (0.05, 0.2)


def leavers(draw, n=4000):
    """Two classes, 4 in 100 nodes in the second, a few nodes with most of the links, embeddings of
    profiles."""
    y = (draw.random(n) < 0.04).astype(int)
    active = draw.pareto(1.3, n) + 0.2
    edges = numpy.stack([draw.choice(n, 9000, p=active / active.sum()) for _ in range(2)])
    latent = draw.normal(size=(n, 12))
    latent[:, 0] += 1.2 * y
    latent[:, 1] -= 0.6 * y
    return embedded(draw, latent, 80, 0.5), y, edges[:, edges[0] != edges[1]], (0.5, 0.25)


def baskets(draw, n=3000):
    """Products that are bought together; ratings in five steps, a little smooth over links,
    embeddings of texts."""
    place = draw.random((n, 2))
    base = numpy.sin(6 * place[:, 0]) + numpy.cos(5 * place[:, 1])
    near = numpy.exp(-((place[:, None] - place[None]) ** 2).sum(2) / 0.0009) * 0.55
    edges = numpy.stack(numpy.nonzero(numpy.triu(draw.random((n, n)) < near, 1)))
    score = base + 1.0 * draw.normal(size=n)
    y = numpy.digitize(score, numpy.quantile(score, [0.1, 0.25, 0.6, 0.85]))
    latent = numpy.concatenate([draw.normal(size=(n, 10)), score[:, None] * 0.8 + draw.normal(size=(n, 1))], 1)
    return embedded(draw, latent, 100, 0.5), y, edges, (0.5, 0.25)


SETS = {f.__name__: f for f in (gauss, embeddings, bag, counts, constant, scales, skewed, rare, tiny, imbalanced, identity, opposite, unrelated, noval, several,
                                several_words, several_few, topics, cycle, couples, islands, lopsided, wild, ledger, chain, articles, leavers, baskets,
                                signed)}
