from . import onnx as onnx, torch as torch
from ._library import Error as Error, build_info as build_info
from ._objects import set_deterministic as set_deterministic, set_seed as set_seed, set_threads as set_threads
from ._tables import *
from .graphs import Graph as Graph
from .layers import Layer as Layer, fields as fields, presets as presets
from .models import Data as Data, Model as Model
from .pictures import Attention as Attention
from .texts import Generator as Generator, SentenceEncoder as SentenceEncoder

__version__: str
