// Selectors for components. Here: the scene with pending changes, permissions.

import type { Camera, LayerDescription, Scene, SliceAxis, VolumeLayer } from "../protocol";
import { changedBy } from "./scene";
import type { ComparedAs, PageState } from "./state";

let last: { server: PageState["server"]; sent: unknown; queued: unknown; view: string; scene: Scene | null } | null = null;

/** The scene with the pending changes; the same value as long as nothing changed. */
export function sceneOf(state: PageState): Scene | null {
  const { server, sent, queued } = state;
  const view = state.interface.editedView;
  if (last && last.server === server && last.sent === sent && last.queued === queued && last.view === view) return last.scene;
  const base = view === "other" ? (server?.other ?? server?.scene) : server?.scene;
  const scene = base ? attempt(base, state) : null;
  last = { server, sent, queued, view, scene };
  return scene;
}

/** A change for an earlier scene may not fit: then it is not shown, and will be rejected. */
function attempt(scene: Scene, state: PageState): Scene {
  try {
    return changedBy(scene, [...state.sent, ...state.queued]);
  } catch {
    return scene;
  }
}

/** The selected volume, with its index and description; null if none is selected. */
export interface ChosenVolume {
  index: number;
  layer: VolumeLayer;
  description: LayerDescription | null;
}

let lastVolume: ChosenVolume | null = null;

export function chosenVolume(state: PageState): ChosenVolume | null {
  const { kind, index } = state.interface.chosen;
  const layer = kind === "volumes" ? sceneOf(state)?.volumes[index] : undefined;
  const description = state.layers?.layers[index] ?? null;
  if (!layer) return null;
  if (lastVolume && lastVolume.layer === layer && lastVolume.description === description && lastVolume.index === index) return lastVolume;
  lastVolume = { index, layer, description };
  return lastVolume;
}

const numbers = (one: Camera): number[] => [...one.position, ...one.target, ...one.up, one.height, one.field_of_view_deg ?? 0];

/** How the image compares with the newest scene and camera; empty if there is no image. */
export function imageState({ shown, server, camera, sent, queued }: PageState): "exact" | "rendering…" | "moving" | "" {
  if (!shown || !server || !camera) return "";
  const wanted = numbers(camera);
  if (!numbers(shown.header.camera).every((one, index) => Math.abs(one - (wanted[index] ?? 0)) < 1e-6)) return "moving";
  const isCurrent = shown.header.revision >= server.revision && sent.length + queued.length === 0;
  return isCurrent && shown.header.is_exact ? "exact" : "rendering…";
}

export const isOwner = (state: PageState): boolean => state.welcome?.capability === "own";

/** Whether this page may control the view now: it has the capability and the controls. */
export function canControl(state: PageState): boolean {
  const { welcome, controls } = state;
  if (!welcome || welcome.capability === "view") return false;
  return controls === null || controls.holder === null || controls.holder === welcome.client;
}

export const isComparing = (state: PageState): boolean => (state.server?.other ?? null) !== null;

/** How two scenes are compared; null where there is one. */
export function comparedAs(state: PageState): ComparedAs | null {
  if (!isComparing(state)) return null;
  return state.server?.arrangement === "over" ? state.interface.overlay : "beside";
}

const AXES: readonly SliceAxis[] = ["z", "y", "x"];
const WITH_OBLIQUE: readonly SliceAxis[] = [...AXES, "oblique"];

/** The slices that there are beside the scene. */
export const shownAxes = (scene: Scene): readonly SliceAxis[] => (scene.slices.length > 0 ? WITH_OBLIQUE : AXES);

export const areSlicesShown = (state: PageState): boolean => (state.crossHair?.voxel ?? null) !== null;
export function isEmptyScene({ server }: PageState): boolean {
  if (!server) return false;
  const { volumes, points, meshes, slices } = server.scene;
  return volumes.length + points.length + meshes.length + slices.length === 0;
}

/** Width over height of the frames, if they have the size of another page's window: they are then shown whole. */
export function foreignRatio({ shown, controls, welcome }: PageState): number | null {
  if (!shown || !controls || controls.holder === welcome?.client) return null;
  return shown.header.full_width / Math.max(shown.header.full_height, 1);
}
