// The progress of a training. Here: its curves and images, ending it with the network kept. Not here: other progress (JobCard.tsx).

import { useEffect, useRef, useState, type ReactNode } from "react";
import { Button } from "../components/Button";
import { DialogWindow } from "../components/Dialog";
import { short } from "../geometry/measures";
import { Plot } from "../panels/Plot";
import { errorText, useAgent } from "./context";
import { isOver } from "./jobs";
import type { Job, Training } from "./protocol";

const POLL_MS = 2000;

export function TrainingDialog({ job, onClose }: { job: Job; onClose: () => void }): ReactNode {
  const { api, attempt, refreshJobs } = useAgent();
  const { training, error } = useTraining(job);
  return (
    <DialogWindow title={`Training: ${job.name}`} width="wide" onClose={onClose}>
      {training && training.steps > 0 ? (
        <div className="agent-training scrolls">
          <p className="number">{summary(training)}</p>
          <Curves training={training} />
          <div className="agent-training-images">
            {training.images.map(({ name, version }) => (
              <figure key={name}>
                <TrainingImage job={job} name={name} version={version} />
                <figcaption className="hint">{name}</figcaption>
              </figure>
            ))}
          </div>
          {isOver(job) ? null : (
            <Button isDisabled={!training.can_stop} title="End the training now; its network is kept" onClick={() => void attempt(() => api.stopTraining(job.id).then(refreshJobs))}>
              Stop and keep the network
            </Button>
          )}
        </div>
      ) : (
        <p className="hint">{error || "The training has not begun."}</p>
      )}
    </DialogWindow>
  );
}

function useTraining(job: Job): { training: Training | null; error: string } {
  const { api } = useAgent();
  const [training, setTraining] = useState<Training | null>(null);
  const [error, setError] = useState("");
  const isEnded = isOver(job);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isWanted = true;
    const look = async (): Promise<void> => {
      try {
        const found = await api.training(job.id);
        if (isWanted) setTraining(found);
      } catch (reason) {
        if (isWanted) setError(errorText(reason));
      }
      if (isWanted && !isEnded) timer = setTimeout(() => void look(), POLL_MS);
    };
    void look();
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [api, job.id, isEnded]);
  return { training, error };
}

const summary = ({ step, steps, seconds }: Training): string => `Step ${step} of ${steps}, ${short(seconds / 60)} min`;

function Curves({ training: { losses, every, step, validations } }: { training: Training }): ReactNode {
  const names = Object.keys(validations[0] ?? {}).filter((name) => name !== "step");
  return (
    <div className="agent-training-curves">
      <Curve title="loss" values={losses} range={[every, step]} />
      {names.map((name) => (
        <Curve key={name} title={`held out: ${name.replaceAll("_", " ")}`} values={validations.map((point) => point[name] ?? null)} range={[validations[0]?.["step"] ?? 0, validations.at(-1)?.["step"] ?? 0]} />
      ))}
    </div>
  );
}

function Curve({ title, values, range }: { title: string; values: readonly (number | null)[]; range: readonly [number, number] }): ReactNode {
  const last = values.at(-1);
  if (last === undefined || last === null) return null;
  return (
    <section>
      <h3 className="label">
        {title} <span className="number">{short(last)}</span>
      </h3>
      <Plot label={title} values={values} range={range} unit="steps" />
    </section>
  );
}

/** The latest image; the one before stays until it is there. */
function TrainingImage({ job, name, version }: { job: Job; name: string; version: number }): ReactNode {
  const { api } = useAgent();
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    let isWanted = true;
    const draw = (image: ImageBitmap): void => {
      const element = canvas.current;
      if (!isWanted || !element) return;
      element.width = image.width;
      element.height = image.height;
      element.getContext("2d")?.drawImage(image, 0, 0);
      element.dataset["version"] = String(version);
    };
    api.trainingImage(job.id, name).then(draw, () => undefined); // The training may just have ended.
    return () => {
      isWanted = false;
    };
  }, [api, job.id, name, version]);
  return <canvas ref={canvas} data-name={name} aria-label={name} />;
}
