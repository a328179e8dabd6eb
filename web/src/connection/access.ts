// The page's access to the viewer. Here: its session and both proofs.
// Not here: opening a session (pageSession.ts), the WebSocket that carries the proofs (socket.ts), requests (requests.ts).
//
// Another user of this machine may take over the port of a viewer that has ended. So once the page has a session, it sends its token
// only after the other end has proved, on the WebSocket, that it holds the session's key. The key stays in memory.

import type { Proof } from "../protocol";
import { AccessDenied, browserEnvironment, checkConnection, forgetToken, openSession, randomHex, sign, storeToken, type Environment, type Peer } from "./pageSession";

const TIMEOUT_MS = 10_000;
export const FRESH_LINK = "Run pellucid open, or press Enter in the terminal where pellucid view runs, to get a new link.";

const PEER: Peer = { name: "viewer", freshLink: FRESH_LINK };

export class Access {
  /** The saved state that the link is for. */
  state = "";
  private session = "";
  private key = "";
  private token = "";
  private nonce = "";
  private isProven = false;
  private waiting: (() => void)[] = [];

  constructor(private readonly environment: Environment) {}

  /** What the address of the page had behind its #. */
  get fragment(): string {
    return this.environment.fragment;
  }

  async open(): Promise<void> {
    const session = await openSession(this.environment, PEER);
    if (!session) throw new AccessDenied("This address needs a link with a code.", FRESH_LINK);
    Object.assign(this, { session: session.session, key: session.key, state: session.state, token: session.token });
  }

  /** The first message on a new WebSocket. */
  challenge(): { type: "prove"; session: string; nonce: string; address: string } {
    this.nonce = randomHex();
    return { type: "prove", session: this.session, nonce: this.nonce, address: this.environment.address };
  }

  /** This page's own proof, if that of the other end is valid; null if the other end is not the viewer. */
  answer(proof: Proof): string | null {
    const words = [this.nonce, proof.nonce, this.environment.address];
    return proof.proof === sign(this.key, "server", ...words) ? sign(this.key, "page", ...words) : null;
  }

  /** The viewer has accepted this page, and sends the token for requests. */
  welcomed(token: string): void {
    this.token = token;
    storeToken(this.environment, token);
    this.isProven = true;
    for (const go of this.waiting.splice(0)) go();
  }

  /** The connection was lost: the next server has to prove its identity first. */
  lost(): void {
    this.isProven = false;
  }

  /** No viewer answers at this address: another user may serve a page there, which must not find the token after a reload. */
  gone(): void {
    forgetToken(this.environment);
  }

  /** The token for a request, once the other end has proved its identity; null if that takes too long. */
  async ready(): Promise<string | null> {
    if (!this.isProven) {
      await new Promise<void>((go) => {
        this.waiting.push(go);
        setTimeout(go, TIMEOUT_MS);
      });
    }
    checkConnection(this.environment, PEER);
    return this.isProven ? this.token : null;
  }
}

let own: Access | null = null;

export function access(): Access {
  own ??= new Access(browserEnvironment());
  return own;
}
