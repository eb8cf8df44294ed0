"""The data sets of the papers and of the benchmarks, from a folder of yours or from their public originals.

>>> from grls.datasets import load_mcycle
>>> X, y = load_mcycle(return_X_y=True)  # doctest: +SKIP

The folder is `data_home`, or the environment variable ``GRLS_DATA``, or ``~/.cache/grls``. A file that is not
there is downloaded from the public original, converted and kept; every file is known by its SHA-256 or by
that of its content, and one that was truncated or changed is refused. Archives that you fetched by other
means are taken from the subfolder ``originals``. The addresses and checksums are in `grls.datasets._sources`.
None of the addresses has been tried yet, and that of the 7 sectors is from memory; what was checked is that
original files made from the real data convert back to exactly these data. The ozone, cod-RNA and small
two-class data have no address: copy their files into the folder.

============================  =========================================================================
images                        `load_mnist`, `load_coil20`
text                          `load_20newsgroups`, `load_webkb`, `load_sectors`
from text to numbers          `strip_headers`, `strip_page`, `word_counter`, `MutualInformationWords`,
                              `bag_of_words`
regression                    `load_mcycle`, `load_meuse`, `load_meuse_grid`, `load_mauna_loa`,
                              `load_ozone`, `load_airfoil`, `load_california_housing`
… with published splits       `load_concrete`, `load_energy`, `load_protein`
two classes                   `load_a9a`, `load_cod_rna`, `load_binary`
============================  =========================================================================
"""

from . import classification, images, regression, text, words
from ._store import ChecksumError, DownloadError, data_folder
from .classification import *  # noqa: F403
from .images import *  # noqa: F403
from .regression import *  # noqa: F403
from .text import *  # noqa: F403
from .words import *  # noqa: F403

__all__ = ["ChecksumError", "DownloadError", "data_folder"]
__dir__ = __all__.copy
__all__ += classification.__all__ + images.__all__ + regression.__all__ + text.__all__ + words.__all__
