// Time steps of a series: a slider, and playback.

import { useEffect, useState, type CSSProperties, type ReactNode } from "react";
import { IconButton } from "../components/Button";
import { useSession } from "../session/session";
import { canControl, sceneOf } from "../state/selectors";
import { useSelect } from "../state/store";

const STEP_MS = 120;

export function TimeSlider(): ReactNode {
  const session = useSession();
  const times = useSelect((state) => Math.max(1, ...(state.layers?.layers.map((one) => one.times) ?? [])));
  const time = useSelect((state) => sceneOf(state)?.time ?? 0);
  const mayControl = useSelect(canControl);
  const isShown = useSelect((state) => state.sent.length === 0 && (state.shown?.header.revision ?? -1) >= (state.server?.revision ?? 0));
  const [isPlaying, setPlaying] = useState(false);
  // The next step comes after the image of the last one: however slow the machine, every step is seen.
  useEffect(() => {
    if (!isPlaying || !isShown || times < 2) return undefined;
    const timer = setTimeout(() => session.set(["time"], (time + 1) % times, true), STEP_MS);
    return () => clearTimeout(timer);
  }, [isPlaying, isShown, times, time, session]);
  if (times < 2) return null;
  return (
    <div className="time pane number grows">
      <IconButton icon={isPlaying ? "pause" : "play"} label={isPlaying ? "Pause" : "Play"} isDisabled={!mayControl} onClick={() => setPlaying(!isPlaying)} />
      <input
        type="range"
        aria-label="Time step"
        min={0}
        max={times - 1}
        value={time}
        disabled={!mayControl}
        style={{ "--filled": `${(time / (times - 1)) * 100}%` } as CSSProperties}
        onChange={(event) => session.set(["time"], Number(event.currentTarget.value), true)}
        onPointerUp={(event) => session.set(["time"], Number(event.currentTarget.value))}
      />
      <span>
        {time} <span className="hint">/ {times - 1}</span>
      </span>
    </div>
  );
}
