// The session of a page with the program that serves it. Here: opening one with the code or share link of the address, or with the token
// kept over a reload; signatures. Not here: proofs later in the session (access.ts, agent/api.ts).
//
// Another user of this machine may take over the port of a program that has ended. So the page sends a code, a share link's secret or a
// token only after the other end has proved that it holds the same.

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { RequestError } from "./requestError";
import { readShort } from "./shortReply";
import type { PageAccess, ProofRequest, ErrorBody, ServerProof, SessionRequest } from "../protocol";

/** Provided by the browser, or by tests. */
export interface Environment {
  address: string;
  fragment: string;
  /** Where the token is stored during a reload; null in a frame, which other pages may contain. */
  storage: Pick<Storage, "getItem" | "setItem" | "removeItem"> | null;
  fetch: (address: string, options: RequestInit) => Promise<Response>;
  /** Whether a service worker stands between this page and its server. There is none of ours. */
  isIntercepted: () => boolean;
}

/** How messages refer to the server. */
export interface Peer {
  /** "viewer" or "agent". */
  name: string;
  freshLink: string;
}

/** The page has no access. */
export class AccessDenied extends Error {
  constructor(
    readonly what: string,
    readonly remedy: string,
  ) {
    super(what);
  }
}

/** A page's address as its server knows it: without file, query and fragment. */
export function pageAddress(uri: string): string {
  const url = new URL(".", uri);
  return url.origin + url.pathname;
}

export const sign = (key: string, ...words: string[]): string => bytesToHex(hmac(sha256, utf8ToBytes(key), utf8ToBytes(words.join(" "))));

export const randomHex = (): string => bytesToHex(crypto.getRandomValues(new Uint8Array(32)));

const storageKey = (address: string): string => `pellucid ${address}`;

export function storeToken({ address, storage }: Environment, token: string): void {
  storage?.setItem(storageKey(address), token);
}

/** Where other users can listen in the server's place, its page could read the token: at a port of this machine. */
export function forgetToken({ address, storage }: Environment): void {
  if (/^http:\/\/(127\.0\.0\.1|\[::1\]|([\w-]+\.)*localhost)[:/]/.test(address)) storage?.removeItem(storageKey(address));
}

/** Requests would go to another user's program, which has left a service worker at this page's address. */
export function checkConnection({ isIntercepted }: Environment, { name, freshLink }: Peer): void {
  if (isIntercepted()) throw new RequestError(`Another program answers in place of the ${name}.`, `No data was sent to it. ${freshLink}`);
}

type SecretKind = "code" | "share" | "resume";

/** Why access is denied where the other end cannot prove that it holds the secret. */
function unproven(kind: SecretKind, { name, freshLink }: Peer): AccessDenied {
  if (kind === "code") return new AccessDenied(`This link does not belong to this ${name}, or the ${name} was restarted.`, freshLink);
  if (kind === "share") return new AccessDenied(`This link was revoked, or its ${name} has stopped.`, "Ask the owner for a new link.");
  return new AccessDenied(`This page no longer has access to the ${name}.`, freshLink);
}

/** What identifies a secret to the program that issued it: its SHA-256; of a code, all but its last part. */
function nameOf(kind: SecretKind, secret: string): Pick<ProofRequest, "code"> | Pick<ProofRequest, "secret_hash"> {
  return kind === "code" ? { code: secret.slice(0, Math.max(secret.lastIndexOf("."), 0)) } : { secret_hash: bytesToHex(sha256(utf8ToBytes(secret))) };
}

/** The session, or null where neither the address nor this tab has anything to open one with. */
export async function openSession(environment: Environment, peer: Peer): Promise<PageAccess | null> {
  const { address, fragment, storage } = environment;
  const link = new URLSearchParams(fragment.replace(/^#/, ""));
  const secrets: [SecretKind, string | null][] = [
    ["code", link.get("code")],
    ["share", link.get("share")],
    ["resume", storage?.getItem(storageKey(address)) ?? null],
  ];
  let denied: AccessDenied | null = null;
  for (const [kind, secret] of secrets) {
    if (!secret) continue;
    const reply = (await check(environment, peer, kind, secret)) ?? (await post<PageAccess>(environment, peer, "api/session", { [kind]: secret, address }));
    if (!(reply instanceof AccessDenied)) {
      storeToken(environment, reply.token);
      return reply;
    }
    denied ??= reply;
  }
  storage?.removeItem(storageKey(address));
  if (denied) throw denied;
  return null;
}

/** Null where the other end has proved that it holds the secret. */
async function check(environment: Environment, peer: Peer, kind: SecretKind, secret: string): Promise<AccessDenied | null> {
  const nonce = randomHex();
  const reply = await post<ServerProof>(environment, peer, "api/prove", { nonce, ...nameOf(kind, secret) });
  if (reply instanceof AccessDenied) return reply;
  return reply.proof === sign(secret, "program", nonce) ? null : unproven(kind, peer);
}

async function post<Reply extends PageAccess | ServerProof>(
  { fetch }: Environment,
  { name, freshLink }: Peer,
  path: string,
  body: Partial<ProofRequest> | Partial<SessionRequest>,
): Promise<Reply | AccessDenied> {
  let reply: Response;
  try {
    reply = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  } catch {
    return new AccessDenied(`The ${name} does not respond.`, "Check that it is running, then reload this page.");
  }
  const content = (await readShort(reply).catch(() => null)) as (Reply & Partial<ErrorBody>) | null;
  if (reply.ok && content) return content;
  return new AccessDenied(content?.what ?? `The ${name} denied access to this page.`, content?.remedy ?? freshLink);
}

/** Of this page. Secrets are removed from the address at once: they would stay visible, and in the history. */
export function browserEnvironment(): Environment {
  const { hash, pathname } = location;
  if (hash) history.replaceState(null, "", pathname);
  const storage = window.top === window ? sessionStorage : null;
  // Only a secure context has service workers.
  const workers = "serviceWorker" in navigator ? navigator.serviceWorker : null;
  return {
    address: pageAddress(document.baseURI),
    fragment: hash,
    storage,
    fetch: (address, options) => fetch(address, options),
    isIntercepted: () => workers !== null && workers.controller !== null,
  };
}
