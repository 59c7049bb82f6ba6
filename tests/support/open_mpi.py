"""Runs Open MPI's mpirun next to other tests, and after runs of it that were killed."""

import contextlib
import tempfile


@contextlib.contextmanager
def own_folder():
    """Variables with which mpirun runs here: as root, and with a folder of its own. What a killed
    mpirun leaves under /tmp is named after its process, and a later one of that number fails."""
    with tempfile.TemporaryDirectory(prefix="paceline-ompi-", ignore_cleanup_errors=True) as folder:
        yield {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_orte_tmpdir_base": folder}
