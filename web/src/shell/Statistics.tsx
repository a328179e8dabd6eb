// The time of a frame by stage.

import { useEffect, useRef, type ReactNode } from "react";
import { IconButton } from "../components/Button";
import { useSession } from "../session/session";
import type { Shown, Timing } from "../state/state";
import { useSelect } from "../state/store";

const STAGES: readonly { stage: keyof Omit<Timing, "total">; color: string }[] = [
  { stage: "input", color: "#8a94a0" },
  { stage: "render", color: "#78b9f5" },
  { stage: "encode", color: "#b59cf0" },
  { stage: "wire", color: "#f0bf6a" },
  { stage: "decode", color: "#7bd3a3" },
  { stage: "paint", color: "#f58a7d" },
];
const HISTORY = 90;

export function Statistics(): ReactNode {
  const session = useSession();
  const shown = useSelect((state) => state.shown);
  if (!shown) return null;
  const { header, timing, framesPerSecond } = shown;
  return (
    <section className="statistics pane number grows" aria-label="Statistics">
      <header>
        <b>{framesPerSecond}</b> <span className="hint">frames/s</span>
        <IconButton icon="close" label="Close statistics" onClick={() => session.page({ areStatisticsShown: false })} />
      </header>
      <Trace shown={shown} />
      <table>
        <tbody>
          {STAGES.map(({ stage, color }) => (
            <tr key={stage}>
              <th scope="row">
                <i style={{ background: color }} />
                {stage}
              </th>
              <td>{timing[stage].toFixed(1)} ms</td>
            </tr>
          ))}
          <tr className="is-total">
            <th scope="row">input to image</th>
            <td>{timing.total > 0 ? `${timing.total.toFixed(0)} ms` : "–"}</td>
          </tr>
        </tbody>
      </table>
      <p className="hint">
        {header.width} × {header.height} of {header.full_width} × {header.full_height}, {header.encoding}
        {header.is_exact ? ", exact" : ""}
      </p>
    </section>
  );
}

/** The last frames as stacked bars. */
function Trace({ shown }: { shown: Shown }): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const history = useRef<Timing[]>([]);
  useEffect(() => {
    history.current = [...history.current, shown.timing].slice(-HISTORY);
    if (canvas.current) draw(canvas.current, history.current);
  }, [shown]);
  return <canvas ref={canvas} className="trace" width={HISTORY * 4} height={88} aria-hidden="true" />;
}

function draw(canvas: HTMLCanvasElement, history: readonly Timing[]): void {
  const pen = canvas.getContext("2d");
  if (!pen) return;
  const sums = history.map((one) => STAGES.reduce((sum, { stage }) => sum + one[stage], 0));
  const most = Math.max(50, ...sums);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  history.forEach((one, index) => {
    let bottom = canvas.height;
    for (const { stage, color } of STAGES) {
      const height = (one[stage] / most) * canvas.height;
      pen.fillStyle = color;
      pen.fillRect((HISTORY - history.length + index) * 4, bottom - height, 3, height);
      bottom -= height;
    }
  });
}
