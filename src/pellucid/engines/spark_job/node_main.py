"""A task of a Slurm step, for one worker of Spark: ``python -m pellucid.engines.spark_job.node_main MASTER CORES MB``.

Here: main.
Not here: the step, and the settings of Spark (allocation).
"""

import os
import sys
from pathlib import Path

from pellucid.engines.spark_job.allocation import own_address, spark_home


def main() -> None:
    master, cores, memory = sys.argv[1:]
    host = own_address(master.removeprefix("spark://").rpartition(":")[0])
    program = str(spark_home() / "bin" / "spark-class")
    environment = {**os.environ, "SPARK_LOCAL_IP": host, "PYSPARK_PYTHON": sys.executable}
    words = ["org.apache.spark.deploy.worker.Worker", "--cores", cores, "--memory", memory, "--host", host]
    words += ["--webui-port", "0", "--work-dir", str(Path(os.environ["SPARK_CONF_DIR"]) / "work"), master]
    os.execve(program, [program, *words], environment)


if __name__ == "__main__":
    main()
