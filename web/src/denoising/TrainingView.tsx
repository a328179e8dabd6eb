// A training while it runs. Here: a held-out slice before and after, with a line to drag between them; the curves. Not here: stopping it (DenoisePanel.tsx).

import { useEffect, useRef, useState, type ReactNode } from "react";
import { Plot } from "../panels/Plot";
import type { DenoisedSide, DenoisingStatus } from "../protocol";
import { DragLine } from "../components/DragLine";
import { Frame } from "../reconstruction/PreviewImages";
import { useSession } from "../session/session";
import { errorText } from "./draft";
import { imageOf } from "./requests";

export function TrainingView({ run }: { run: DenoisingStatus }): ReactNode {
  const [split, setSplit] = useState(0.5);
  const { images, status, step, every, losses, validations } = run;
  const errors = validations.map((point) => point.error);
  return (
    <>
      <Frame name="Before and after" note="a slice that the network does not learn from" ratio={1} isLarge>
        <Side task={status.task} side="after" version={images} />
        <div className="workbench-before" style={{ clipPath: `inset(0 ${100 - 100 * split}% 0 0)` }}>
          <Side task={status.task} side="before" version={images} />
        </div>
        <span className="workbench-tag is-left">before</span>
        <span className="workbench-tag is-right">after</span>
        <DragLine label="Before and after" isUpright value={split * 100} count={100} step={1} onChange={(place) => setSplit(place / 100)} />
      </Frame>
      <div className="denoising-curves" aria-live="off">
        <Curve title="Loss" values={losses} range={[every, step]} />
        <Curve title="Error on held-out slices" values={errors} range={[validations[0]?.step ?? 0, validations.at(-1)?.step ?? 0]} />
        <p className="hint">{errorText(run)}</p>
      </div>
    </>
  );
}

interface CurveProps {
  title: string;
  values: readonly number[];
  range: readonly [number, number];
}

function Curve({ title, values, range }: CurveProps): ReactNode {
  if (values.length < 2) return null;
  return (
    <section>
      <h3 className="label">{title}</h3>
      <Plot label={title} values={values} range={range} unit="steps" />
    </section>
  );
}

/** The latest image; the one before stays until it is there. */
function Side({ task, side, version }: { task: string; side: DenoisedSide; version: number }): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const session = useSession();
  useEffect(() => {
    if (version === 0) return undefined;
    let isWanted = true;
    void session.attempt(imageOf(task, side)).then((image) => {
      const element = canvas.current;
      if (!isWanted || !image || !element) return;
      element.width = image.width;
      element.height = image.height;
      element.getContext("2d")?.drawImage(image, 0, 0);
      element.dataset["version"] = String(version);
    });
    return () => {
      isWanted = false;
    };
  }, [session, task, side, version]);
  return <canvas ref={canvas} data-side={side} />;
}
