"""The users' models whose volumes are in the scene: what each is, and how many points it evaluates at once; and the
neural field that is being trained, if one is shown.

Here: RunningModels.
Not here: starting one (model_layers), the process that runs it (workers.user_code).
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from pellucid.errors import NotFound
from pellucid.instance.protocol.server_messages import ErrorMessage, ModelList, RunningModel, ShownTraining
from pellucid.workers.protocol.module_requests import SetBatch

if TYPE_CHECKING:
    from pellucid.instance.session import Session


class RunningModels:
    """By the source of the volume that they fill. Called on the event loop."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._models: dict[str, RunningModel] = {}
        self.training = ShownTraining()

    def message(self) -> ModelList:
        return ModelList(tuple(self._models.values()))

    def show_training(self, training: ShownTraining) -> None:
        """A neural field is being trained by another process."""
        self.training = training
        self._session.broadcast(training)

    def add(self, model: RunningModel) -> None:
        self._models[model.source] = model
        self._tell()

    def has_ended(self, source: str) -> None:
        if source in self._models:
            self._models[source] = replace(self._models[source], is_running=False)
            self._tell()

    def follow(self) -> None:
        """A model whose volume is shown no more is forgotten."""
        gone = self._models.keys() - self._session.history.pair.sources
        for source in gone:
            del self._models[source]
        if gone:
            self._tell()

    def set_batch(self, task: str, batch: int) -> None:
        """The user wants so many points in one call."""
        model = next((one for one in self._models.values() if one.task == task), None)
        if model is None:
            raise NotFound(f"the model {task}")
        self._session.pool.get("user_code").send(SetBatch(model.source, batch))
        self._models[model.source] = replace(model, batch=batch, is_halved=False)
        self._tell()

    def batch_was_halved(self, source: str, batch: int) -> None:
        """Memory did not suffice."""
        model = self._models.get(source)
        if model is not None:  # Not before the first image: what came of that is known from its reply.
            self._models[source] = replace(model, batch=batch, is_halved=True)
            self._tell()
        self._session.broadcast(
            ErrorMessage(
                f"There was not enough memory for so many points at once: the batch was halved to {batch:,}.",
                "No action is needed. Choose a larger batch when memory is free again.",
                self._session.history.revision,
            ),
            "own",
        )

    def _tell(self) -> None:
        self._session.broadcast(self.message())
