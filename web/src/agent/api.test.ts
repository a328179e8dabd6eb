import { expect, it } from "vitest";
import { sign } from "../connection/pageSession";
import { RequestError } from "../connection/requestError";
import { AgentApi } from "./api";

const ADDRESS = "http://127.0.0.1:8000/";
const SESSION = { session: "s", key: "k", token: "t", capability: "own", state: "" };

interface Sent {
  path: string;
  method: string;
  headers: Record<string, string>;
}

function setUp({ fragment = "#code=a.once", key = SESSION.key, replies = {} as Record<string, Response | Error>, isIntercepted = false } = {}) {
  const sent: Sent[] = [];
  const fetch = (path: string, { method = "GET", headers = {}, body }: RequestInit): Promise<Response> => {
    sent.push({ path, method, headers: headers as Record<string, string> });
    const { nonce = "", code } = JSON.parse((body as string | undefined) ?? "{}") as { nonce?: string; code?: string };
    if (path === "api/session") return Promise.resolve(Response.json(SESSION));
    if (path === "api/prove") return Promise.resolve(Response.json({ proof: code === undefined ? sign(key, "http", nonce, ADDRESS) : sign("a.once", "program", nonce) }));
    const reply = replies[path];
    return reply instanceof Error ? Promise.reject(reply) : Promise.resolve(reply?.clone() ?? Response.json([]));
  };
  return { api: new AgentApi({ address: ADDRESS, fragment, storage: null, fetch, isIntercepted: () => isIntercepted }), sent };
}

it("asks for a proof before every request, and only then sends its token", async () => {
  const { api, sent } = setUp();
  await api.open();
  await api.jobs();
  await api.stopJob("a1");
  expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual(["POST api/prove", "POST api/session", "POST api/prove", "GET api/jobs", "POST api/prove", "DELETE api/jobs/a1"]);
  expect(sent.map(({ headers }) => headers["Pellucid-Session"])).toEqual([undefined, undefined, undefined, "t", undefined, "t"]);
});

it("sends nothing to a server that cannot prove itself", async () => {
  const { api, sent } = setUp({ key: "another" });
  await api.open();
  await expect(api.jobs()).rejects.toMatchObject({ what: "The server at this address is not the agent that opened this page." });
  expect(sent.map(({ path }) => path)).toEqual(["api/prove", "api/session", "api/prove"]);
});

it("sends no token through another user's service worker", async () => {
  const { api, sent } = setUp({ isIntercepted: true });
  await api.open();
  await expect(api.jobs()).rejects.toMatchObject({ what: "Another program answers in place of the agent." });
  expect(sent.map(({ path }) => path)).not.toContain("api/jobs");
});

it("needs neither session nor ticket behind a Hub", async () => {
  const { api, sent } = setUp({ fragment: "" });
  await api.open();
  await api.jobs();
  expect([await api.ticketFor("api/files/content?path=a"), sent]).toEqual(["api/files/content?path=a", [{ path: "api/jobs", method: "GET", headers: {} }]]);
});

it("passes on the agent's error and remedy", async () => {
  const reply = Response.json({ what: "It is gone.", remedy: "Choose another." }, { status: 404 });
  const { api } = setUp({ fragment: "", replies: { "api/jobs": reply } });
  const error = await api.jobs().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(RequestError);
  expect(error).toMatchObject({ what: "It is gone.", remedy: "Choose another." });
});

it("says how to start an agent that has stopped", async () => {
  const { api } = setUp({ replies: { "api/jobs": new TypeError("refused") } });
  await api.open();
  const remedy = "Run pellucid open: it starts the agent and opens a new page.";
  await expect(api.jobs()).rejects.toMatchObject({ what: "The agent has stopped or does not respond.", remedy });
});

it("says so when the agent behind a Hub does not respond", async () => {
  const api = new AgentApi({ address: ADDRESS, fragment: "", storage: null, fetch: () => Promise.reject(new TypeError("refused")), isIntercepted: () => false });
  await expect(api.about()).rejects.toMatchObject({ what: "The agent has stopped or does not respond.", remedy: "Start your server again on the Hub's page." });
});

it("repeats the lengths of a shape in the query", async () => {
  const { api, sent } = setUp({ fragment: "" });
  await api.estimate([1, 2, 3], "uint8");
  expect(sent[0]?.path).toBe("api/estimate?shape=1&shape=2&shape=3&dtype=uint8");
});
