// Requests over HTTP, with the token of this page, once the viewer has proved its identity. Here: one function per route, answers typed, failures as errors with a remedy.
// Not here: what happens on the WebSocket (socket.ts).

import { access } from "./access";
import { errorFrom, RequestError } from "./requestError";
import type {
  Capability,
  ExportRequest,
  FileFacts,
  FitRequest,
  FittedCamera,
  Folder,
  LabelList,
  SavedLink,
  Loaded,
  LoadRequest,
  FigureRequest,
  MomentsRequest,
  MovieMoments,
  MoviePath,
  MoviePathText,
  MovieRequest,
  ModelBatch,
  NetworkRequest,
  NetworkStarted,
  PaintRequest,
  ProfileValues,
  ProfileRequest,
  RecentFiles,
  SliceWindow,
  SliceWindowRequest,
  RegionRequest,
  RegionValues,
  Revision,
  SavedLabels,
  SavedState,
  SaveLabelsRequest,
  CompiledShading,
  Share,
  TaskStarted,
  Ticket,
  Uploaded,
} from "../protocol";

const disconnected = (): RequestError => new RequestError("The viewer does not respond.", "Try again once this page has reconnected.");

export async function ask(address: string, method = "GET", body?: BodyInit, signal?: AbortSignal): Promise<Response> {
  let answer: Response;
  const token = await access().ready();
  if (token === null) throw disconnected();
  try {
    const headers = new Headers(typeof body === "string" ? { "Content-Type": "application/json" } : undefined);
    headers.set("Pellucid-Session", token);
    answer = await fetch(address, { method, headers, ...(body === undefined ? {} : { body }), ...(signal ? { signal } : {}) });
  } catch {
    throw disconnected();
  }
  if (!answer.ok) throw await errorFrom(answer, "viewer");
  return answer;
}

export async function get<Answer>(address: string): Promise<Answer> {
  return (await (await ask(address)).json()) as Answer;
}

export async function post<Answer>(address: string, body?: unknown, method = "POST"): Promise<Answer> {
  return (await (await ask(address, method, body === undefined ? undefined : JSON.stringify(body))).json()) as Answer;
}

const query = (values: Record<string, string | number>): string =>
  new URLSearchParams(Object.entries(values).map(([name, value]): [string, string] => [name, String(value)])).toString();

export const listFolder = (folder: string, search: string): Promise<Folder> => get(`api/files?${query({ folder, search })}`);
export const factsOf = (path: string): Promise<FileFacts> => get(`api/files/info?${query({ path })}`);
export const load = (request: LoadRequest): Promise<Loaded> => post("api/load", request);
export const recentFiles = (): Promise<RecentFiles> => get("api/recent");
export const clearRecentFiles = (): Promise<Response> => ask("api/recent", "DELETE");
export const showSample = (): Promise<Loaded> => post("api/sample", { how: "replace" });
export const compile = (source: string): Promise<CompiledShading> => post("api/shadings", { source });
export const approve = (hash: string): Promise<CompiledShading> => post(`api/shadings/${hash}/approve`);
export const profile = (request: ProfileRequest): Promise<ProfileValues> => post("api/profile", request);
export const labelTable = (layer: number): Promise<LabelList> => get(`api/labels?${query({ layer })}`);
export const labelCsv = async (layer: number): Promise<string> => (await ask(`api/labels?${query({ layer, format: "csv" })}`)).text();
export const paintLabels = (request: PaintRequest): Promise<Revision> => post("api/paint", request);
export const saveLabels = (request: SaveLabelsRequest): Promise<SavedLabels> => post("api/labels/save", request);
export const sliceWindow = (request: SliceWindowRequest): Promise<SliceWindow> => post("api/slices/window", request);
export const regionValues = (request: RegionRequest): Promise<RegionValues> => post("api/regions", request);
export const measureFile = async (format: "csv" | "json"): Promise<string> => (await ask(`api/measures?${query({ format })}`)).text();
export const applyNetwork = (request: NetworkRequest): Promise<NetworkStarted> => post("api/networks", request);
export const setBatch = (task: string, request: ModelBatch): Promise<Response> => ask(`api/models/${task}`, "PATCH", JSON.stringify(request));
export const fitCamera = (request: FitRequest): Promise<FittedCamera> => post("api/camera/fit", request);
export const restoreFirstView = (): Promise<Revision> => post("api/auto");
export const startMovie = (request: MovieRequest): Promise<TaskStarted> => post("api/movies", request);
export const movieMoments = (request: MomentsRequest): Promise<MovieMoments> => post("api/movies/moments", request);
export const readMoviePath = (file: MoviePathText): Promise<MoviePath> => post("api/movies/path", file);
export const startExport = (request: ExportRequest): Promise<TaskStarted> => post("api/exports", request);
export const makeLink = (): Promise<SavedLink> => post("api/links");
export const openLink = (name: string): Promise<Revision> => post(`api/links/${name}/open`);
export const shares = (): Promise<Share[]> => get("api/shares");
export const makeShare = (capability: Capability, name: string): Promise<Share> => post("api/shares", { capability, name });
export const revokeShare = (id: string): Promise<Response> => ask(`api/shares/${id}`, "DELETE");
/** An address that the browser can fetch by itself, for a minute. */
export const ticketFor = (path: string): Promise<Ticket> => post("api/tickets", { path });
export const savedState = (): Promise<SavedState> => get("api/state");
export const restore = (state: SavedState): Promise<Revision> => post("api/state", state, "PUT");

export async function upload(file: File): Promise<Uploaded> {
  return (await (await ask(`api/upload?${query({ name: file.name })}`, "PUT", file)).json()) as Uploaded;
}

/** A file of a folder; all files of the folder have the same id. */
export async function uploadInto(folder: string, path: string, file: File): Promise<Uploaded> {
  return (await (await ask(`api/upload?${query({ name: path, folder_id: folder })}`, "PUT", file)).json()) as Uploaded;
}

/** The middle slice of a file, as an image. */
export const middleSlice = async (path: string): Promise<Blob> => (await ask(`api/files/slice?${query({ path })}`)).blob();

export async function figure(request: FigureRequest): Promise<Blob> {
  return (await ask("api/figures", "POST", JSON.stringify(request))).blob();
}
