// Scans over HTTP. Here: one function per route. Not here: images, of which the latest wins (previewQueue.ts).

import { ask, get, post } from "../connection/requests";
import type { AxisResult, Recipe, ReconstructionCommand, ReconstructionRequest, ScanDescription, ScanOptions, Suggestion, TaskStarted, TaskStatus } from "../protocol";

export const describeScan = (path: string, options: ScanOptions): Promise<ScanDescription> => post("api/scans/describe", { path, options });
export const datasetsOf = (path: string): Promise<Suggestion> => get(`api/scans/datasets?path=${encodeURIComponent(path)}`);
export const findAxis = (path: string, options: ScanOptions, recipe: Recipe): Promise<AxisResult> => post("api/scans/axis", { path, options, recipe: { ...recipe, center: "auto" } });
export const commandOf = (request: ReconstructionRequest): Promise<ReconstructionCommand> => post("api/reconstructions/command", request);
export const startReconstruction = (request: ReconstructionRequest): Promise<TaskStarted> => post("api/reconstructions", request);
export const statusOf = (task: string): Promise<TaskStatus> => get(`api/tasks/${task}`);
export const logOf = async (task: string): Promise<string> => (await ask(`api/reconstructions/${task}/log`)).text();
