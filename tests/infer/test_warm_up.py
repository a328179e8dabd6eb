"""Getting ready for a network runs one, and says on what."""

from pellucid.infer.warm_up import warm_up


def test_a_convolution_is_run_on_the_device() -> None:
    assert warm_up("cpu").startswith("ONNX Runtime") and warm_up("cpu").endswith("(CPU)")
