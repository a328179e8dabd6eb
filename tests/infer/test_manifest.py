"""bioimage.io's descriptions: what they state is used, and a network that does not reproduce its tests is refused."""

import hashlib
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from pellucid.errors import Corrupted, InvalidInput, NotFound
from pellucid.infer.loading import load_network
from pellucid.infer.network_files.manifest import read_manifest
from pellucid.infer.network_files.network import NetworkForm
from pellucid.infer.network_files.package import unpack
from pellucid.infer.network_files.transforms import ValueTransform
from tests.infer.small_networks import convolution
from tests.shared_data import shared

KERNEL = np.random.default_rng(0).standard_normal((1, 1, 3, 3)).astype(np.float32)


def expected_output(image: Any) -> Any:
    normal = (image - image.mean()) / (image.std() + 1e-6)
    padded = np.pad(normal[0, 0], 1)
    edges = image.shape[2:]
    total = sum(KERNEL[0, 0, i, j] * padded[i : i + edges[0], j : j + edges[1]] for i in range(3) for j in range(3))
    return (1 / (1 + np.exp(-total)))[None, None].astype(np.float32)


def old_format(folder: Path) -> dict[str, Any]:
    image = np.random.default_rng(1).random((1, 1, 24, 32)).astype(np.float32) * 1000
    np.save(folder / "in.npy", image)
    np.save(folder / "out.npy", expected_output(image))
    path = convolution(folder / "weights.onnx", KERNEL)
    return {
        "format_version": "0.4.9",
        "type": "model",
        "inputs": [
            {
                "name": "in",
                "axes": "bcyx",
                "data_type": "float32",
                "shape": {"min": [1, 1, 8, 8], "step": [0, 0, 1, 1]},
                "preprocessing": [
                    {"name": "zero_mean_unit_variance", "kwargs": {"mode": "per_sample", "axes": "xy", "eps": 1e-6}}
                ],
            }
        ],
        "outputs": [{"name": "out", "axes": "bcyx", "halo": [0, 0, 4, 4], "postprocessing": [{"name": "sigmoid"}]}],
        "test_inputs": ["in.npy"],
        "test_outputs": ["out.npy"],
        "weights": {"onnx": {"source": "weights.onnx", "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}},
    }


def new_format(folder: Path) -> dict[str, Any]:
    document = old_format(folder)
    axes: list[Any] = [{"type": "batch"}, {"type": "channel", "channel_names": ["grey"]}]
    space = [{"type": "space", "id": letter, "size": {"min": 8, "step": 1}} for letter in "yx"]
    halo = [
        {"type": "space", "id": letter, "halo": 4, "size": {"tensor_id": "in", "axis_id": letter}} for letter in "yx"
    ]
    steps = [{"id": "zero_mean_unit_variance", "kwargs": {"axes": ["y", "x"]}}]
    document["format_version"] = "0.5.4"
    document["inputs"] = [
        {"id": "in", "axes": [*axes, *space], "preprocessing": steps, "test_tensor": {"source": "in.npy"}}
    ]
    document["outputs"] = [
        {
            "id": "out",
            "axes": [*axes, *halo],
            "postprocessing": [{"id": "sigmoid"}],
            "test_tensor": {"source": "out.npy"},
        }
    ]
    del document["test_inputs"], document["test_outputs"]
    return document


def write(folder: Path, document: Any) -> Path:
    (folder / "bioimageio.yaml").write_text(yaml.safe_dump(document))
    return folder / "bioimageio.yaml"


@pytest.mark.parametrize("made", [old_format, new_format])
def test_a_description_is_read_and_its_tests_are_run(made: Any, tmp_path: Path) -> None:
    path = write(tmp_path, made(tmp_path))
    for named in (path, tmp_path):
        network = load_network(named)
        assert [one.name for one in network.form.preprocess] == ["zero_mean_unit_variance"]
        assert [one.name for one in network.form.postprocess] == ["sigmoid"]
        assert (network.form.axes, network.form.stated_halo, network.radius) == ("bcyx", (0, 4, 4), (0, 1, 1))
    chosen = load_network(path, NetworkForm(postprocess=(ValueTransform.parse("clip:min=0"),)))
    assert [one.name for one in chosen.form.postprocess] == ["clip"]


def test_a_network_that_does_not_reproduce_its_test_is_refused(tmp_path: Path) -> None:
    document = old_format(tmp_path)
    path = write(tmp_path, document)
    wrong = np.load(tmp_path / "out.npy")
    wrong[:, :, :8] += 0.1
    np.save(tmp_path / "out.npy", wrong)
    with pytest.raises(
        InvalidInput, match=r"does not reproduce the test output of .*: its output differs by up to 0.1"
    ):
        load_network(path)
    np.save(tmp_path / "out.npy", wrong[:, :, 1:])
    with pytest.raises(InvalidInput, match=r"its output has shape \(1, 1, 24, 32\) instead of \(1, 1, 23, 32\)"):
        load_network(path)


def test_statistics_of_the_output_are_refused(tmp_path: Path) -> None:
    document = old_format(tmp_path)
    document["outputs"][0]["postprocessing"] = [{"name": "scale_range"}]
    with pytest.raises(InvalidInput, match=r"scale_range after .* needs statistics of the whole output"):
        load_network(write(tmp_path, document))


def test_changed_weights_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, old_format(tmp_path))
    convolution(tmp_path / "weights.onnx", KERNEL + 1)
    with pytest.raises(Corrupted, match=r"its checksum is not the one in bioimageio.yaml"):
        load_network(path)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda d: d["weights"]["onnx"].update(source="../weights.onnx"), InvalidInput, "outside its folder"),
        (lambda d: d["weights"]["onnx"].update(source="https://a.b/weights.onnx"), InvalidInput, "outside its folder"),
        (lambda d: d.update(test_inputs=["/etc/passwd"]), InvalidInput, "outside its folder"),
        (lambda d: d["weights"]["onnx"].update(source="absent.onnx"), NotFound, "does not exist"),
        (lambda d: d.update(weights={"torchscript": {}}), InvalidInput, "has no ONNX weights, but torchscript"),
        (lambda d: d.pop("inputs"), Corrupted, "not a description of a network"),
        (lambda d: d.update(inputs=[]), Corrupted, "not a description of a network"),
        (lambda d: d["outputs"][0].update(axes=7), Corrupted, "not a description of a network"),
        (lambda d: d["inputs"][0].update(preprocessing=[{"name": "exec"}]), InvalidInput, "Unknown transform 'exec'"),
    ],
)
def test_descriptions_that_are_wrong(change: Any, error: type[Exception], text: str, tmp_path: Path) -> None:
    document = old_format(tmp_path)
    change(document)
    with pytest.raises(error, match=text):
        load_network(write(tmp_path, document))


def test_yaml_that_would_run_code_is_refused(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    (tmp_path / "bioimageio.yaml").write_text(f"!!python/object/apply:os.mkdir ['{trace}']")
    with pytest.raises(Corrupted, match="it is not valid YAML"):
        read_manifest(tmp_path / "bioimageio.yaml")
    (tmp_path / "bioimageio.yaml").write_text("[" * 5000)
    with pytest.raises(Corrupted, match="it is not valid YAML"):
        read_manifest(tmp_path / "bioimageio.yaml")
    assert not trace.exists()
    with pytest.raises(InvalidInput, match=r"contains no bioimageio.yaml"):
        load_network(tmp_path / "..")


def test_test_tensors_with_objects_or_too_few_bytes_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, old_format(tmp_path))
    np.save(tmp_path / "in.npy", np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(Corrupted, match=r"in.npy is corrupted: it is not a complete array of numbers"):
        load_network(path)
    header = np.lib.format.header_data_from_array_1_0(np.zeros(1, np.float32)) | {"shape": (2**20, 2**20)}
    with (tmp_path / "in.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
    with pytest.raises(Corrupted, match=r"in.npy is corrupted"):
        load_network(path)


@pytest.mark.parametrize(
    "shape", ["(True, 1, 24, 32)", "(-1, 1, 24, 32)", "(0, 1, 24, 32)", "(1.0,)", "'x'", "(" * 400]
)
def test_test_tensors_with_odd_shapes_are_refused(shape: str, tmp_path: Path) -> None:
    path = write(tmp_path, old_format(tmp_path))
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(4096)
    (tmp_path / "in.npy").write_bytes(content)
    with pytest.raises(Corrupted, match=r"in.npy is corrupted: it is not a complete array of numbers"):
        load_network(path)


def bomb(last: str) -> str:
    """Nine to the power of eleven, and what refers to it."""
    lists = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}' if i else 'x'] * 9)}]\n" for i in range(11)]
    return "".join(lists) + last


def merges() -> str:
    """The same by mappings that take over those before."""
    lists = [f"b{i}: &b{i} {{<<: [{', '.join([f'*b{i - 1}' if i else '*a'] * 9)}]}}\n" for i in range(9)]
    return "a: &a {x: 1}\n" + "".join(lists)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (bomb("weights: *a10\n"), "aliases expand"),
        (bomb("weights: {onnx: *a10}\ninputs: *a10\noutputs: *a10\n"), "aliases expand"),
        (merges(), "aliases expand"),
        ("&a [*a]\n", "not valid YAML"),
        ("#" * 2**19, "has at most 262,144 bytes"),
    ],
)
def test_yaml_that_grows_is_refused(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "bioimageio.yaml").write_text(text)
    with pytest.raises(Corrupted, match=why):
        read_manifest(tmp_path / "bioimageio.yaml")


def test_aliases_of_ordinary_descriptions_are_read(tmp_path: Path) -> None:
    document = old_format(tmp_path)
    document["authors"] = document["packaged_by"] = [{"name": "Ada"}]
    path = write(tmp_path, document)
    assert "*id001" in path.read_text()
    load_network(path)


@pytest.mark.parametrize("name", ["rdf.yaml", "weights.onnx"])
def test_packages_that_unpack_to_much_more_are_refused_before(name: str, tmp_path: Path) -> None:
    package, target = tmp_path / "bomb.zip", tmp_path / "target"
    target.mkdir()
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, bytes(2**19 if name == "rdf.yaml" else 2**27))
    with pytest.raises(Corrupted, match=r"has at most 262,144 bytes|unpacks to more than 67,108,864 bytes"):
        unpack(package, target)
    assert list(target.iterdir()) == []


def test_the_published_network_with_a_description(tmp_path: Path) -> None:
    document = old_format(tmp_path)
    shutil.copy(shared("networks/unet2d_nuclei.onnx"), tmp_path / "weights.onnx")
    published = np.load(shared("networks/unet2d_nuclei_test.npz"))
    np.save(tmp_path / "in.npy", published["input"])
    np.save(tmp_path / "out.npy", published["output"])
    del document["weights"]["onnx"]["sha256"]
    network = load_network(write(tmp_path, document))
    assert (network.kind, network.fixed_window, network.radius) == ("2D", None, (0, 58, 58))
