// The key frames of a movie, in a panel below the scene. Here: the list, its buttons, and making the movie.
// Not here: changes of the list (keys.ts), the preview (preview.ts), progress and the file (Notifications.tsx).

import { useEffect, useRef, useState, type ReactNode } from "react";
import { figure, readMoviePath, startMovie } from "../connection/requests";
import { Button, IconButton } from "../components/Button";
import { choose, saveText } from "../components/files";
import { NumberField } from "../components/NumberField";
import { useSession, type Session } from "../session/session";
import { canControl, sceneOf } from "../state/selectors";
import { useSelect } from "../state/store";
import { added, changesFor, durationOf, fileText, fromPath, keyNow, removed, replaced, retimed, swapped, type MovieKey } from "./keys";
import { MoviePreview } from "./preview";

const THUMBNAIL = { width: 160, height: 90 };
const MAX_S = 600;
const MAX_KEYS = 100;
const SIZES = [
  [1280, 720],
  [1920, 1080],
  [3840, 2160],
] as const;

export function Timeline(): ReactNode {
  const session = useSession();
  const keys = useSelect((state) => state.interface.movieKeys);
  const mayControl = useSelect(canControl);
  const [chosen, setChosen] = useState(0);
  const [at, setAt] = useState<number | null>(null);
  const preview = useRef<MoviePreview | null>(null);
  useEffect(() => () => preview.current?.stop(), []);
  const set = (next: readonly MovieKey[]): void => session.page({ movieKeys: next });
  const index = keys.findIndex((one) => one.id === chosen);
  const isPlaying = at !== null;
  const isShort = keys.length < 2;
  const play = async (): Promise<void> => {
    if (isPlaying) return preview.current?.stop();
    setAt(keys[0]?.key.at_s ?? 0);
    preview.current = await MoviePreview.start(session, keys, setAt);
    if (!preview.current) setAt(null);
  };
  const add = (): void => {
    const now = viewNow(session, keys);
    if (!now) return;
    const next = added(keys, now, session.painter.thumbnail("main", THUMBNAIL));
    set(next);
    setChosen(next.at(-1)?.id ?? 0);
  };
  const replace = (): void => {
    const now = viewNow(session, keys);
    if (now) set(replaced(keys, chosen, now, session.painter.thumbnail("main", THUMBNAIL)));
  };
  return (
    <section className="timeline pane grows" aria-label="Key frames of a movie" inert={!mayControl}>
      <header>
        <h2>Key frames</h2>
        <Button icon="plus" look={isShort ? "main" : "normal"} title="Add the current view" isDisabled={isPlaying || keys.length >= MAX_KEYS} onClick={add}>
          Add
        </Button>
        <Button title="Replace the chosen key frame with the current view" isDisabled={isPlaying || index < 0} onClick={replace}>
          Replace
        </Button>
        <IconButton icon="previous" label="Move the key frame earlier" isDisabled={isPlaying || index < 1} onClick={() => set(swapped(keys, chosen, -1))} />
        <IconButton icon="next" label="Move the key frame later" isDisabled={isPlaying || index < 0 || index >= keys.length - 1} onClick={() => set(swapped(keys, chosen, 1))} />
        <IconButton icon="trash" label="Delete the key frame" isDisabled={isPlaying || index < 0} onClick={() => set(removed(keys, chosen))} />
        <span className="timeline-space" />
        <IconButton icon="upload" label="Open a file of key frames" isDisabled={isPlaying} onClick={() => void openKeys(session)} />
        <IconButton icon="download" label="Save the key frames as a file" isDisabled={isShort} onClick={() => saveText(fileText(keys), "movie.json")} />
        <IconButton icon="close" label="Close the key frames" onClick={() => session.page({ isTimelineOpen: false })} />
      </header>
      {keys.length === 0 ? <p className="hint">Turn the scene to where the movie begins and add a key frame; then another one. Colours, clipping and time go along.</p> : null}
      <ol className="timeline-keys scrolls">
        {keys.map((one, order) => (
          <li key={one.id} className={one.id === chosen ? "is-chosen" : ""}>
            <button type="button" aria-label={`Key frame ${order + 1}`} aria-pressed={one.id === chosen} disabled={isPlaying} title="Show this view" onClick={() => show(session, one, setChosen)}>
              {one.thumbnail ? <img src={one.thumbnail} alt="" /> : null}
            </button>
            <NumberField label={`Seconds of key frame ${order + 1}`} value={one.key.at_s} low={0} high={MAX_S} step={0.5} isDisabled={isPlaying} text={(value) => `${value} s`} onChange={(seconds) => set(retimed(keys, one.id, seconds))} />
          </li>
        ))}
      </ol>
      <Making keys={keys} at={at} onPlay={() => void play()} />
    </section>
  );
}

/** The preview, and the movie as a file. */
function Making({ keys, at, onPlay }: { keys: readonly MovieKey[]; at: number | null; onPlay: () => void }): ReactNode {
  const session = useSession();
  const [size, setSize] = useState("1280x720");
  const [rate, setRate] = useState(30);
  const [isBusy, setBusy] = useState(false);
  const seconds = durationOf(keys);
  const isShort = keys.length < 2;
  const make = async (): Promise<void> => {
    const [width = 1280, height = 720] = size.split("x").map(Number);
    setBusy(true);
    await session.attempt(startMovie({ width, height, frames_per_second: rate, path: { keys: keys.map(({ key }) => key) } }));
    setBusy(false);
  };
  return (
    <footer>
      <Button icon={at === null ? "play" : "pause"} isDisabled={isShort} title={at === null ? "Show the movie in the scene" : "Stop the preview"} onClick={onPlay}>
        {at === null ? "Preview" : "Stop"}
      </Button>
      <span className="hint number" role="timer">
        {at === null ? `${seconds.toFixed(1)} s` : `${(at - (keys[0]?.key.at_s ?? 0)).toFixed(1)} of ${seconds.toFixed(1)} s`}
      </span>
      <span className="timeline-space" />
      <select className="field" aria-label="Size of the movie" value={size} onChange={(event) => setSize(event.currentTarget.value)}>
        {SIZES.map(([width, height]) => (
          <option key={width} value={`${width}x${height}`}>
            {width} × {height}
          </option>
        ))}
      </select>
      <NumberField label="Frames per second" value={rate} low={1} high={60} text={(value) => `${value}/s`} onChange={(value) => setRate(Math.round(value))} />
      <Button look={isShort ? "normal" : "main"} isDisabled={isShort || isBusy || at !== null} title="Make the movie: an MP4" onClick={() => void make()}>
        Make movie
      </Button>
    </footer>
  );
}

function viewNow(session: Session, keys: readonly MovieKey[]) {
  session.page({ editedView: "main" });
  const state = session.store.get();
  const scene = sceneOf(state);
  return scene && state.camera ? keyNow(scene, state.camera, state.layersOf.main?.layers[0], keys) : null;
}

function show(session: Session, { id, key }: MovieKey, setChosen: (id: number) => void): void {
  setChosen(id);
  session.page({ editedView: "main" });
  const state = session.store.get();
  const scene = sceneOf(state);
  const changes = scene ? changesFor(scene, key, state.layersOf.main?.layers[0]) : [];
  if (changes.length > 0) session.change(changes);
  session.look(key.camera, false);
}

/** Read a file, then draw what its key frames show. */
async function openKeys(session: Session): Promise<void> {
  const file = await choose(".json,application/json");
  if (!file) return;
  const path = await session.attempt(readMoviePath({ text: await file.text() }));
  if (!path) return;
  const keys = fromPath(path);
  session.page({ movieKeys: keys });
  for (const { key } of keys) {
    const image = await session.attempt(figure({ ...THUMBNAIL, key }));
    if (!image) return;
    const thumbnail = URL.createObjectURL(image);
    const now = session.store.get().interface.movieKeys;
    session.page({ movieKeys: now.map((one) => (one.key === key ? { ...one, thumbnail } : one)) });
  }
}
