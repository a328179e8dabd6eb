// A user's PyTorch model that fills the chosen volume. Here: what it is, how many points it evaluates at once, how densely rays are sampled.
// Not here: progress and stopping, as of every task (shell/Notifications.tsx).

import type { ReactNode } from "react";
import { Button } from "../components/Button";
import { Select } from "../components/Choice";
import { Section } from "../components/Section";
import { Slider } from "../components/Slider";
import { setBatch } from "../connection/requests";
import { useSession } from "../session/session";
import { isOwner, sceneOf, type ChosenVolume } from "../state/selectors";
import { useSelect } from "../state/store";
import { batches, samplesPerRay, stepFor } from "./model";

export function ModelSection({ chosen }: { chosen: ChosenVolume }): ReactNode {
  const session = useSession();
  const model = useSelect((state) => state.models.find((one) => one.source === chosen.layer.source) ?? null);
  const step = useSelect((state) => sceneOf(state)?.step ?? 0.5);
  const isOwned = useSelect(isOwner);
  if (!model || !chosen.description) return null;
  const { shape } = chosen.description;
  return (
    <Section title="Model">
      <p className="hint">
        {model.name} on {model.device}
        {model.is_running ? ", being evaluated" : ""}
      </p>
      {isOwned ? (
        <Select
          label="Points at once"
          value={String(model.batch)}
          options={batches(model.batch).map((points) => ({ value: String(points), label: points.toLocaleString("en") }))}
          onChange={(points) => void session.attempt(setBatch(model.task, { batch: Number(points) }))}
        />
      ) : null}
      {model.is_halved ? <p className="hint">There is not enough memory for more.</p> : null}
      <Slider
        label="Samples per ray"
        value={samplesPerRay(shape, step)}
        low={16}
        high={4096}
        isLogarithmic
        text={(count) => String(Math.round(count))}
        onChange={(count, isMoving) => session.set(["step"], stepFor(shape, count), isMoving)}
      />
      {isOwned && model.is_running ? (
        <Button isWide onClick={() => session.send({ type: "cancel_task", task: model.task })}>
          Stop evaluating
        </Button>
      ) : null}
    </Section>
  );
}
