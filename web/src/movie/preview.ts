// A movie in the live view. Here: showing its moments as time passes, and what was shown before afterwards.
// Not here: what the moments are (the instance), the list of key frames (keys.ts).

import { movieMoments } from "../connection/requests";
import type { Camera, Change, KeyFrame, LayerDescription, Scene } from "../protocol";
import { json, type Path } from "../state/scene";
import { sceneOf } from "../state/selectors";
import type { Session } from "../session/session";
import { partsOf, valueAt, type MovieKey } from "./keys";

const RATE = 30;

/** What is in a movie at one moment: each None taken from the moment before. */
export function filled(moments: readonly KeyFrame[]): readonly KeyFrame[] {
  let last: KeyFrame | undefined;
  return moments.map((moment) => {
    last = last ? { ...moment, time: moment.time ?? last.time, transfer: moment.transfer ?? last.transfer, clip: moment.clip ?? last.clip, planes: moment.planes ?? last.planes } : moment;
    return last;
  });
}

/** The parts of a scene that a movie changes. All of them are sent each time: they are then one step of undo. */
export function changedParts(scene: Scene, moments: readonly KeyFrame[], first: LayerDescription | undefined): readonly Path[] {
  const changed = new Map<string, Path>();
  for (const moment of moments)
    for (const [path, value] of partsOf(moment, first)) {
      const name = path.join();
      if (!changed.has(name) && JSON.stringify(value) !== JSON.stringify(valueAt(scene, path))) changed.set(name, path);
    }
  return [...changed.values()];
}

export class MoviePreview {
  private frame = 0;
  private last: Camera | null = null;

  private constructor(
    private readonly session: Session,
    private readonly moments: readonly KeyFrame[],
    private readonly before: { scene: Scene; camera: Camera },
    private readonly parts: readonly Path[],
    private readonly onTime: (seconds: number | null) => void,
  ) {}

  /** null: the key frames make no movie, as the notification says. onTime: null at the end. */
  static async start(session: Session, keys: readonly MovieKey[], onTime: (seconds: number | null) => void): Promise<MoviePreview | null> {
    session.page({ editedView: "main" });
    const reply = await session.attempt(movieMoments({ path: { keys: keys.map(({ key }) => key) }, frames_per_second: RATE }));
    const state = session.store.get();
    const scene = sceneOf(state);
    if (!reply || !scene || !state.camera) return null;
    const moments = filled(reply.moments);
    const first = state.layersOf.main?.layers[0];
    const preview = new MoviePreview(session, moments, { scene, camera: state.camera }, changedParts(scene, moments, first), onTime);
    preview.play();
    return preview;
  }

  /** Show again what was shown before. */
  stop(): void {
    if (this.frame === 0) return;
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.change(this.parts.map((path) => [path, valueAt(this.before.scene, path)] as const), false);
    // A user who took the camera keeps it.
    if (this.session.store.get().camera === this.last) this.session.look(this.before.camera, false);
    this.onTime(null);
  }

  private play(): void {
    const began = performance.now();
    const [first] = this.moments;
    const step = (): void => {
      const camera = this.session.store.get().camera;
      const at = (performance.now() - began) / 1000 + (first?.at_s ?? 0);
      const moment = this.moments.findLast((one) => one.at_s <= at) ?? first;
      const isTaken = this.last !== null && camera !== this.last;
      if (!moment || isTaken || at > (this.moments.at(-1)?.at_s ?? 0)) return this.stop();
      this.last = moment.camera;
      this.session.look(moment.camera, true);
      const said = new Map(partsOf(moment, this.session.store.get().layersOf.main?.layers[0]).map(([path, value]) => [path.join(), value]));
      this.change(this.parts.map((path) => [path, said.get(path.join()) ?? null] as const), true);
      this.onTime(moment.at_s);
      this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  private change(values: readonly (readonly [Path, unknown])[], isMoving: boolean): void {
    const changes: Change[] = values.map(([path, value]) => ({ path, value: json(value) }));
    if (changes.length > 0) this.session.change(changes, isMoving);
  }
}
