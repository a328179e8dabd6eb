// What lets this page in. Here: the code or share link of the address, the page's session, proofs.
// Not here: the WebSocket on which both ends prove themselves (socket.ts), requests (requests.ts).
//
// Another user of this machine may take over the port of a viewer that has ended. So the page sends a code, a share link's
// secret or a token only after the other end has proved that it holds the same; and, once it has a session, only after the
// proof on the WebSocket that the other end holds the session's key. The key stays in memory.

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { PageAccess, Proof, ProofRequest, Refused, ServerProof, SessionRequest } from "../protocol";

const TIMEOUT_MS = 10_000;
export const FRESH_LINK = "Run pellucid open, or press Enter in the terminal where pellucid view runs: each gives a fresh link.";

/** What the browser gives; tests give something else. */
export interface Environment {
  address: string;
  fragment: string;
  /** Where the token outlives a reload; null in a frame, which others may show. */
  storage: Pick<Storage, "getItem" | "setItem" | "removeItem"> | null;
  fetch: (address: string, options: RequestInit) => Promise<Response>;
}

type Way = "code" | "share" | "resume";

/** Why a way does not lead in, where the other end cannot prove that it holds the secret. */
const UNPROVED: Record<Way, [string, string]> = {
  code: ["This link is not one of this viewer, or its viewer was started again.", FRESH_LINK],
  share: ["This link was revoked, or its viewer has ended.", "Ask the owner for another link."],
  resume: ["This page has no access to the viewer any more.", FRESH_LINK],
};

/** The page has no access. */
export class AccessDenied extends Error {
  constructor(
    readonly what: string,
    readonly remedy: string,
  ) {
    super(what);
  }
}

/** A page's address as the viewer knows it: without its file, query and fragment. */
export function pageAddress(uri: string): string {
  const url = new URL(".", uri);
  return url.origin + url.pathname;
}

export const sign = (key: string, ...words: string[]): string => bytesToHex(hmac(sha256, utf8ToBytes(key), utf8ToBytes(words.join(" "))));

/** What names a secret to the viewer that issued it: its SHA-256; of a code, all but its last part. */
function nameOf(way: Way, secret: string): Pick<ProofRequest, "code"> | Pick<ProofRequest, "secret_hash"> {
  return way === "code" ? { code: secret.slice(0, Math.max(secret.lastIndexOf("."), 0)) } : { secret_hash: bytesToHex(sha256(utf8ToBytes(secret))) };
}

export const randomHex = (): string => bytesToHex(crypto.getRandomValues(new Uint8Array(32)));

export class Access {
  /** The saved state that the link is for. */
  state = "";
  private session = "";
  private key = "";
  private token = "";
  private nonce = "";
  private isProven = false;
  private waiting: (() => void)[] = [];

  constructor(private readonly world: Environment) {}

  /** Ask for a session: with the code or share link of the address, else with the token from before a reload. */
  async open(): Promise<void> {
    const given = new URLSearchParams(this.world.fragment.replace(/^#/, ""));
    const kept = this.world.storage?.getItem(this.place) ?? "";
    const ways: [Way, string | null][] = [
      ["code", given.get("code")],
      ["share", given.get("share")],
      ["resume", kept],
    ];
    const secrets = ways.filter((entry): entry is [Way, string] => Boolean(entry[1]));
    if (secrets.length === 0) throw new AccessDenied("This address alone does not open the viewer.", FRESH_LINK);
    let fault: AccessDenied | null = null;
    for (const [name, value] of secrets) {
      const answer = (await this.check(name, value)) ?? (await this.ask<PageAccess>("api/session", { [name]: value, address: this.world.address }));
      if (answer instanceof AccessDenied) fault ??= answer;
      else return this.take(answer);
    }
    this.world.storage?.removeItem(this.place);
    if (fault) throw fault;
  }

  /** Null where the other end has proved that it holds the secret. */
  private async check(way: Way, secret: string): Promise<AccessDenied | null> {
    const nonce = randomHex();
    const answer = await this.ask<ServerProof>("api/prove", { nonce, ...nameOf(way, secret) });
    if (answer instanceof AccessDenied) return answer;
    return answer.proof === sign(secret, "program", nonce) ? null : new AccessDenied(...UNPROVED[way]);
  }

  private async ask<Answer extends PageAccess | ServerProof>(address: string, body: Partial<ProofRequest> | Partial<SessionRequest>): Promise<Answer | AccessDenied> {
    let answer: Response;
    try {
      answer = await this.world.fetch(address, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    } catch {
      return new AccessDenied("The viewer does not answer.", "Is it still running? Reload this page when it is.");
    }
    if (answer.ok) return (await answer.json()) as Answer;
    const refused = (await answer.json().catch(() => ({}))) as Partial<Refused>;
    return new AccessDenied(refused.what ?? "The viewer did not let this page in.", refused.do ?? FRESH_LINK);
  }

  private take(given: PageAccess): void {
    Object.assign(this, { session: given.session, key: given.key, state: given.state });
    this.keep(given.token);
  }

  private keep(token: string): void {
    this.token = token;
    this.world.storage?.setItem(this.place, token);
  }

  private get place(): string {
    return `pellucid ${this.world.address}`;
  }

  /** The first message on a new WebSocket. */
  challenge(): { type: "prove"; session: string; nonce: string; address: string } {
    this.nonce = randomHex();
    return { type: "prove", session: this.session, nonce: this.nonce, address: this.world.address };
  }

  /** This page's own proof, where the other end has given a right one; null where it is not the viewer. */
  answer(proof: Proof): string | null {
    const words = [this.nonce, proof.nonce, this.world.address];
    return proof.proof === sign(this.key, "server", ...words) ? sign(this.key, "page", ...words) : null;
  }

  /** The viewer has let this page in, and gives the token for requests. */
  welcomed(token: string): void {
    this.keep(token);
    this.isProven = true;
    for (const go of this.waiting.splice(0)) go();
  }

  /** The connection is lost: whoever answers next has to prove itself first. */
  lost(): void {
    this.isProven = false;
  }

  /** The token for a request, once the other end has proved itself; null where that takes too long. */
  async ready(): Promise<string | null> {
    if (!this.isProven) {
      await new Promise<void>((go) => {
        this.waiting.push(go);
        setTimeout(go, TIMEOUT_MS);
      });
    }
    return this.isProven ? this.token : null;
  }
}

/** Of this page. What the address carries is taken out of it at once: it would stay in sight, and in the history. */
function ofThisPage(): Access {
  const { hash, pathname } = location;
  if (hash) history.replaceState(null, "", pathname);
  const storage = window.top === window ? sessionStorage : null;
  return new Access({ address: pageAddress(document.baseURI), fragment: hash, storage, fetch: (address, options) => fetch(address, options) });
}

let own: Access | null = null;

export function access(): Access {
  own ??= ofThisPage();
  return own;
}
