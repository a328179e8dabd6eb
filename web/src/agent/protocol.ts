// What the agent's routes receive and reply. Shapes and spacings are in (z, y, x) order.
// Here: the bodies as types. Not here: requests (api.ts), the viewer's messages (../protocol.ts).

export type Phase = "queued" | "starting" | "running" | "ending" | "ended" | "failed" | "lost" | "unknown";

export interface About {
  scheduler: string;
  partition: string;
  time_limit_minutes: number;
  may_override: string[];
  product: string;
  /** Address of the Hub that the request came through; "" without one. */
  hub: string;
}

export interface FileEntry {
  name: string;
  path: string;
  kind: "folder" | "volume" | "mesh" | "points" | "file";
  /** null for a folder. */
  size: number | null;
  /** Seconds since 1970. */
  changed_at: number;
}

export interface FolderListing {
  /** "" for the list of roots. */
  path: string;
  root: string;
  parent: string | null;
  entries: FileEntry[];
  is_cut: boolean;
  can_write: boolean;
  /** Its TIFF files are projections and what belongs to them. */
  is_scan: boolean;
  /** Its TIFF files are the slices of a volume. */
  is_stack: boolean;
}

export interface VolumeInfo {
  name: string;
  shape: number[];
  dtype: string;
  bytes: number;
  spacing: number[];
  unit: string;
  format: string;
  codec: string;
  levels: unknown[];
}

export interface ScanInfo {
  scan: string;
  projections?: number;
  flats?: number;
  darks?: number;
  span_deg?: number;
  lacks?: string;
}

export interface FileInfo {
  scan: ScanInfo | null;
  volumes: VolumeInfo[];
}

export interface Estimate {
  gpus: number;
  memory_bytes: number;
}

export interface JobState {
  phase: Phase;
  reason: string;
  place: number | null;
  expected_start: number | null;
  ends_at: number | null;
  node: string;
  last: string;
  log: string[];
}

export interface Job {
  id: string;
  kind: "viewer" | "task";
  name: string;
  created_at: number;
  resources: { gpus: number; memory_bytes: number };
  state: JobState;
  /** Of the jobs that were started together; "" for a single one. */
  batch: string;
  /** Below the agent's address; "" where it cannot be opened. */
  path: string;
  progress: { fraction: number | null; text: string; result: string } | null;
  /** The last scene of a viewer whose time ran out; else "". */
  saved: string;
  /** Whose reconstruction the page of a viewer opens; "" for any other. */
  scan: string;
  /** A task that trains a network. */
  is_training: boolean;
}

/** Curves and images of a training. */
export interface Training {
  step: number;
  steps: number;
  /** Steps from one loss to the next. */
  every: number;
  seconds: number;
  losses: number[];
  /** Numbers by name, with the step that they were measured after. */
  validations: Record<string, number>[];
  /** version: changes with the image. */
  images: { name: string; version: number }[];
  /** It can be ended now, with its network kept. */
  can_stop: boolean;
}

interface Placement {
  gpus?: number;
  memory_bytes?: number;
  overrides?: { partition?: string; time_limit_minutes?: number };
}

export interface ViewerRequest extends Placement {
  source?: string;
  /** Whose reconstruction its page opens at first. */
  scan?: string;
  roots?: string[];
  shape?: number[];
  dtype?: string;
  state?: string;
  name?: string;
}

export interface BatchRequest extends Placement {
  files: string[];
  folder: string;
  arguments: string[];
}
