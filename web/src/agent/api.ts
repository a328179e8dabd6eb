// Requests to the agent. Here: the page's session, the proof of the agent before every request, one function per route.
// Not here: opening a session (../connection/pageSession.ts), what is shown.
//
// Another user of this machine may take over the port of an agent that has ended, between two requests. So before every request, the
// other end has to prove that it holds the key of this page's session. Behind a Hub its login cookie gives access, and there is no session.

import { checkConnection, openSession, randomHex, sign, type Environment, type Peer } from "../connection/pageSession";
import { readShort } from "../connection/shortReply";
import { errorFrom, RequestError } from "../connection/requestError";
import type { PageAccess, Ticket } from "../protocol";
import type { About, BatchRequest, Estimate, FileInfo, FolderListing, Job, Training, ViewerRequest } from "./protocol";

const FRESH_LINK = "Run pellucid open to get a new link.";
const PEER: Peer = { name: "agent", freshLink: FRESH_LINK };
const JSON_TYPE = { "Content-Type": "application/json" };

/** A session is missing behind a Hub, which starts the agent there. An agent that is started again has another address. */
const unreachable = (session: PageAccess | null): RequestError =>
  new RequestError("The agent has stopped or does not respond.", session ? "Run pellucid open: it starts the agent and opens a new page." : "Start your server again on the Hub's page.");
const unproven = (): RequestError => new RequestError("The server at this address is not the agent that opened this page.", `No data was sent to it. ${FRESH_LINK}`);

const query = (values: Record<string, string>): string => new URLSearchParams(values).toString();

export const contentAddress = (path: string, isShown = false): string => `api/files/content?${query({ path, ...(isShown ? { show: "1" } : {}) })}`;

export class AgentApi {
  private session: PageAccess | null = null;

  constructor(private readonly environment: Environment) {}

  async open(): Promise<void> {
    this.session = await openSession(this.environment, PEER);
  }

  readonly about = (): Promise<About> => this.json("GET", "api/about");
  readonly listFolder = (folder: string): Promise<FolderListing> => this.json("GET", `api/files?${query({ folder })}`);
  readonly fileInfo = (path: string): Promise<FileInfo> => this.json("GET", `api/files/info?${query({ path })}`);
  readonly jobs = (): Promise<Job[]> => this.json("GET", "api/jobs");
  /** Once it is in another phase than before, or after half a minute. */
  readonly changedJob = ({ id, state }: Job): Promise<Job> => this.json("GET", `api/jobs/${id}?${query({ not_phase: state.phase, wait_s: "30" })}`);
  readonly startViewer = (request: ViewerRequest): Promise<Job> => this.json("POST", "api/instances", request);
  readonly startBatch = (request: BatchRequest): Promise<Job[]> => this.json("POST", "api/batches", request);
  readonly stopJob = (id: string): Promise<Job> => this.json("DELETE", `api/jobs/${id}`);
  readonly stopBatch = (batch: string): Promise<Job[]> => this.json("DELETE", `api/batches/${batch}`);
  readonly log = async (id: string): Promise<string> => (await this.request("GET", `api/jobs/${id}/log`)).text();
  readonly training = (id: string): Promise<Training> => this.json("GET", `api/jobs/${id}/training`);
  readonly stopTraining = (id: string): Promise<Job> => this.json("POST", `api/jobs/${id}/training/stop`);
  readonly trainingImage = async (id: string, name: string): Promise<ImageBitmap> => createImageBitmap(await (await this.request("GET", `api/jobs/${id}/training/${encodeURIComponent(name)}`)).blob());
  readonly viewerAddress = async (id: string): Promise<string> => (await this.json<{ path: string }>("POST", `api/jobs/${id}/open`)).path;

  estimate(shape: readonly number[], dtype: string): Promise<Estimate> {
    const values = [...shape.map((length) => ["shape", String(length)]), ["dtype", dtype]];
    return this.json("GET", `api/estimate?${new URLSearchParams(values).toString()}`);
  }

  /** An address that the browser can fetch by itself for a minute; behind a Hub any address is one. */
  async ticketFor(path: string): Promise<string> {
    return this.session ? (await this.json<Ticket>("POST", "api/tickets", { path })).url : path;
  }

  async upload(folder: string, file: File, onProgress: (fraction: number) => void): Promise<void> {
    const headers = await this.headers();
    const reply = await new Promise<Response>((resolve, reject) => {
      // fetch() does not report the progress of an upload.
      const request = new XMLHttpRequest();
      request.open("PUT", `api/files/content?${query({ folder, name: file.name })}`);
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
      request.upload.addEventListener("progress", (event) => onProgress(event.loaded / event.total));
      request.addEventListener("error", () => reject(unreachable(this.session)));
      request.addEventListener("load", () => resolve(new Response(request.responseText, { status: request.status })));
      request.send(file);
    });
    if (!reply.ok) throw await errorFrom(reply, "agent");
  }

  private async json<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    return (await (await this.request(method, path, body)).json()) as Body;
  }

  private async request(method: string, path: string, body?: unknown): Promise<Response> {
    const headers = await this.headers();
    const reply = await this.send(path, body === undefined ? { method, headers } : { method, headers: { ...headers, ...JSON_TYPE }, body: JSON.stringify(body) });
    if (!reply.ok) throw await errorFrom(reply, "agent");
    return reply;
  }

  /** Sent only once the agent has proved itself. */
  private async headers(): Promise<Record<string, string>> {
    if (!this.session) return {};
    await this.prove(this.session);
    checkConnection(this.environment, PEER);
    return { "Pellucid-Session": this.session.token };
  }

  private async prove({ session, key }: PageAccess): Promise<void> {
    const { address } = this.environment;
    const nonce = randomHex();
    const reply = await this.send("api/prove", { method: "POST", headers: JSON_TYPE, body: JSON.stringify({ session, nonce, address }) });
    const { proof } = (await readShort(reply).catch(() => ({}))) as { proof?: string };
    if (proof !== sign(key, "http", nonce, address)) throw unproven();
  }

  private async send(path: string, options: RequestInit): Promise<Response> {
    try {
      return await this.environment.fetch(path, options);
    } catch {
      throw unreachable(this.session);
    }
  }
}
