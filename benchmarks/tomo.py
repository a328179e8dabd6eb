"""Everything about reconstruction: slices beside ASTRA, scikit-image and algotom; iterations; rings; file to file.

    python -m benchmarks.tomo [--quick]

Here: nothing but the order.
Not here: the measurements (reconstruct, iterations, rings, reconstruct_files), of which each has a table of its own.
"""

from benchmarks import iterations, reconstruct, reconstruct_files, rings

if __name__ == "__main__":
    for part in (reconstruct, iterations, rings, reconstruct_files):
        part.main()
