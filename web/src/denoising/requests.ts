// Denoising over HTTP. Here: one function per route. Not here: its log, as of every reconstruction (reconstruction/requests.ts).

import { ask, get, post } from "../connection/requests";
import type { DenoisedSide, DenoisingRequest, DenoisingStatus, TaskStarted } from "../protocol";

export const startDenoising = (request: DenoisingRequest): Promise<TaskStarted> => post("api/denoisings", request);
export const denoisingOf = (scan: string): Promise<DenoisingStatus | null> => get(`api/denoisings?scan=${encodeURIComponent(scan)}`);
export const keepNetwork = async (task: string): Promise<void> => void (await ask(`api/denoisings/${task}/keep`, "POST"));
export const imageOf = async (task: string, side: DenoisedSide): Promise<ImageBitmap> => createImageBitmap(await (await ask(`api/denoisings/${task}/images/${side}`)).blob());
