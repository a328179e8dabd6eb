// What the title describes: the layers of the image that is painted.
// Here: which title is shown, and those that wait for their image. Not here: how it looks (shell/TopBar).
//
// Of another file, the page receives the layers first, then the scene, then the image. The wait ends with an image of
// that revision or a later one, and where none comes: for an empty scene, after an error, when the renderer is given up,
// and while slices cover the scene. Nothing waits on a page that connects: it receives the scene before the layers.

import type { LayerList, Outgoing, SceneState, Transform } from "../protocol";
import { areSlicesShown, isEmptyScene, sceneOf } from "./selectors";
import type { PageState } from "./state";

/** transform: of the first volume. */
export interface Title {
  layers: LayerList | null;
  transform: Transform | null;
}

/** revision: of the first image that it describes. */
export interface PendingTitle extends Title {
  revision: number;
}

export function titleOf(state: PageState): Title {
  const isHeld = state.pendingTitles.length > 0 && state.layers === state.layersOf.main;
  return isHeld ? state.title : { layers: state.layers, transform: transformIn(sceneOf(state)) };
}

/** The first layer, by what the title says of it: facts that become known later change nothing here. */
function identityOf(list: LayerList | null | undefined): string {
  const [layer] = list?.layers ?? [];
  const named = layer ?? list?.points[0] ?? list?.meshes[0];
  return JSON.stringify([named?.name, layer?.shape, layer?.dtype, layer?.spacing]);
}

const transformIn = (scene: SceneState["scene"] | null): Transform | null => scene?.volumes[0]?.transform ?? null;

const isSceneCovered = (state: PageState): boolean => areSlicesShown(state) && (state.interface.layout === "slices" || state.interface.largeSlice !== null);

/** The layers of the scene were received. */
export function withNewTitle(before: PageState, state: PageState, layers: LayerList): PageState {
  const pending = state.pendingTitles;
  const last = pending.at(-1);
  const isSame = identityOf(layers) === identityOf(last?.layers ?? before.layersOf.main);
  const isNews = before.server !== null && layers.revision > before.server.revision;
  if (isSame || !isNews) return last ? { ...state, pendingTitles: [...pending.slice(0, -1), { ...last, layers }] } : state;
  if (state.shown === null || state.shown.header.revision >= layers.revision || isSceneCovered(state)) return { ...state, pendingTitles: [] };
  const shown = { layers: before.layersOf.main ?? null, transform: transformIn(sceneOf(before)) };
  return { ...state, title: last ? state.title : shown, pendingTitles: [...pending, { layers, transform: null, revision: layers.revision }] };
}

/** Those whose image is painted wait no longer. */
export function withPaintedTitle(state: PageState, revision: number): PageState {
  const painted = state.pendingTitles.filter((one) => one.revision <= revision);
  const last = painted.at(-1);
  return last ? { ...state, title: last, pendingTitles: state.pendingTitles.slice(painted.length) } : state;
}

/** A message was received that may say that no image comes, or where the volume of a title lies. */
export function withMessage(state: PageState, message: Outgoing): PageState {
  if (state.pendingTitles.length === 0) return state;
  if (message.type === "error" || (message.type === "worker" && message.state === "stopped")) return withoutPending(state);
  if (message.type !== "state") return state;
  if (isEmptyScene(state)) return withoutPending(state);
  const transform = transformIn(message.scene);
  return { ...state, pendingTitles: state.pendingTitles.map((one) => (one.revision === message.revision ? { ...one, transform } : one)) };
}

/** Slices were laid over the scene, or taken away. */
export const withCover = (state: PageState): PageState => (state.pendingTitles.length > 0 && isSceneCovered(state) ? withoutPending(state) : state);

const withoutPending = (state: PageState): PageState => ({ ...state, pendingTitles: [] });
