// A small scene that tests share.

import type { LayerDescription, Scene, SceneState, TransferFunction, VolumeLayer } from "../protocol";

export const TRANSFER: TransferFunction = {
  colors: [[0, [0, 0, 0]], [1, [1, 1, 1]]],
  opacities: [[0, 0], [0.5, 0.2], [1, 1]],
  value_range: [0, 255],
  gamma: 1,
  edges: null,
  is_preintegrated: false,
};

export const VOLUME: VolumeLayer = {
  source: "scan.h5",
  transfer: TRANSFER,
  mode: "composite",
  shading: "gradient",
  isosurfaces: [],
  clip: null,
  transform: { scale: [1, 1, 1], rotation_deg: [0, 0, 0], translation: [0, 0, 0] },
  user_shading: "",
  parameters: [],
  labels: null,
  is_visible: true,
  edit: 0,
  unit: "",
  slice_options: [
    { window: null, colors: "grey", thickness: 1, projection: "mean" },
    { window: null, colors: "grey", thickness: 1, projection: "mean" },
    { window: null, colors: "grey", thickness: 1, projection: "mean" },
  ],
};

export const SCENE: Scene = {
  volumes: [VOLUME],
  camera: { position: [0, 0, 4], target: [0, 0, 0], up: [0, 1, 0], field_of_view_deg: 30, height: 2 },
  light: { direction: null, ambient: 0.25, diffuse: 0.75, specular: 0.25, shininess: 24, camera_direction: [0.5, -0.65, -1] },
  planes: [],
  background: [0, 0, 0, 1],
  step: 0.5,
  is_jittered: true,
  points: [],
  meshes: [],
  slices: [],
  time: 0,
  annotations: { is_scale_bar: false, is_axes: false, is_legend: false, unit: "", is_color_bar: false, value_unit: "", text_scale: 1 },
  measures: [],
  cinematic: {
    samples: 256,
    environment: "studio",
    strength: 1,
    turn_deg: 0,
    lamp: 1,
    lamp_deg: 8,
    surface: 1,
    roughness: 0.35,
    coat: 1,
    anisotropy: 0,
    scatterings: 24,
    aperture: 0,
    focus: 1,
    exposure: 1,
    is_denoised: true,
    seed: 0,
  },
};

export const LAYER: LayerDescription = {
  name: "scan.h5",
  shape: [10, 20, 30],
  spacing: [3, 2, 1],
  unit: "um",
  dtype: "uint8",
  levels: 1,
  is_memory: false,
  times: 1,
  channels: 1,
  channel: 0,
  histogram: { low: 0, high: 255, counts: [5, 3, 2, 1] },
  planes: [
    { across: "z", down: "y", right: "x" },
    { across: "y", down: "z", right: "x" },
    { across: "x", down: "z", right: "y" },
  ],
  orientation: "",
  compression: "",
  is_projections: false,
  resembles_projections: false,
  axis_code: "",
};

export const STATE: SceneState = {
  revision: 4,
  scene: SCENE,
  other: null,
  by: "",
  request: "",
  can_undo: false,
  can_redo: false,
  arrangement: "beside",
  type: "state",
};
