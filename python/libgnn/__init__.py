"""Graph neural networks and Transformers as one layer.

>>> import libgnn
>>> data = libgnn.Data.karate()
>>> gat = libgnn.Model([libgnn.GAT(34, 8, heads=8, activation="elu"), libgnn.GAT(64, 2)])
>>> result = gat.fit(data, lr=0.005, epochs=50)
>>> gat.predict(data).shape
(34, 2)

Layers are the presets of the library's table (`libgnn.presets()`); their keyword arguments are the
fields of its config (`libgnn.fields()`). Arrays are NumPy's, or whatever NumPy can view without a
copy. Errors are exceptions with the library's message.
"""
from importlib import import_module as _import

_HOMES = {
    "Graph": "graphs", "Data": "models", "Model": "models", "Layer": "layers", "presets": "layers", "fields": "layers",
    "SentenceEncoder": "texts", "Generator": "texts", "Attention": "pictures", "Error": "_library", "build_info": "_library",
    "set_threads": "_objects", "set_seed": "_objects", "set_deterministic": "_objects", "torch": "torch", "onnx": "onnx",
}


def __getattr__(name):
    if name == "__version__":
        from ._library import version
        return version()
    if name in _HOMES:
        home = _import("." + _HOMES[name], __name__)
        value = home if name == _HOMES[name] else getattr(home, name)
    elif not name.startswith("_") and name.isupper():
        value = _import(".layers", __name__).preset(name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    from .layers import presets
    return sorted({*globals(), *_HOMES, *presets()})
