import type { Author } from '../domain/author.ts';
import { AppError } from '../errors.ts';
import { NOBODY, type Caller, type Operation } from '../operations/operation.ts';
import { clientAddress, networkOf } from './client-address.ts';
import type { ExchangeContext } from './exchange-context.ts';
import { KeyRefusal } from './key-refusal.ts';
import { remoteAddress } from './remote-address.ts';
import type { RequestHead } from './request-head.ts';
import { cameByHttps, readSession, setCookie, type PresentedSession, type SessionCookie } from './session-cookie.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

/** The author of calls that the audit log does not record. */
export const UNRECORDED: Author = Object.freeze({ who: '' });

const NOT_BEARER = 'Send the key in the header X-API-KEY, without Bearer before it, instead of in Authorization.';

/** Who sent a request, by key or session, and from where. */
export class Sender {
  private readonly context: ExchangeContext;
  private readonly operation: Operation;
  private readonly res: HttpResponse;
  private readonly head: RequestHead;
  /** Presented instead of a key. */
  private readonly session: PresentedSession | null = null;
  private readonly overHttps: boolean = false;
  private address: string | null = null;
  private isGone = false;

  /** To be made while uWS lends the request. */
  constructor(
    context: ExchangeContext,
    { operation, req, res, head }: { operation: Operation; req: HttpRequest; res: HttpResponse; head: RequestHead },
  ) {
    this.context = context;
    this.operation = operation;
    this.res = res;
    this.head = head;
    // An audited operation records the address even if the connection breaks while it is handled.
    if (operation.audited) this.client();
    if (context.sessions === null) return;
    // A key that is sent counts, whatever cookie the browser adds.
    if (head.apiKey === null) this.session = readSession(req);
    this.overHttps = cameByHttps(req);
  }

  /** To be called when the connection breaks: nothing can be asked of it any more. */
  gone(): void {
    this.isGone = true;
  }

  /** By whose key or session the request is made. Throws, or rejects with, KeyRefusal. */
  authenticated(): Caller | Promise<Caller> {
    const { context, session, head } = this;
    if (this.operation.scope === 'public') return NOBODY;
    if (session !== null) return context.sessions!.authenticate(session);
    if (head.apiKey === null && head.hasBearer) throw new KeyRefusal('missing', { prefix: null, hint: NOT_BEARER });
    return context.authenticate(head.apiKey);
  }

  /** Whom the audit log names, of an audited operation. */
  author(caller: Caller, requestId: string): Author {
    return { who: caller.prefix, address: this.address, requestId };
  }

  /** The header that gives the sender a session, or takes it away. */
  cookie(session: SessionCookie): Record<string, string> {
    return { 'Set-Cookie': setCookie(session, { secure: this.overHttps, nowMs: Date.now() }) };
  }

  /** What is answered to an error: where a key was refused, 429 if too many wrong ones came from the same network. */
  refused(error: unknown): unknown {
    const refusal = this.asRefusal(error);
    if (refusal === null) return error;
    const { onRefused, failedKeys } = this.context;
    onRefused?.(refusal, this.client());
    if (refusal.status !== 401 || refusal.reason === 'missing') return refusal;
    return failedKeys?.failed(this.network()) ?? refusal;
  }

  /** The sender's network, by which failed keys are counted; null: it is not counted, or the connection is gone. */
  network(): string | null {
    if (this.isGone) return null;
    return networkOf(this.res, { forwardedFor: this.head.forwardedFor, trusted: this.context.trustedProxies });
  }

  /** Of an operation that signs in, 401 says that what was in its body is no key. */
  private asRefusal(error: unknown): KeyRefusal | null {
    if (error instanceof KeyRefusal) return error;
    const isSignIn = this.operation.signsIn && error instanceof AppError && error.status === 401;
    return isSignIn ? new KeyRefusal('sign_in', { prefix: null, message: error.message }) : null;
  }

  /** The sender's address; null where the connection is gone. */
  private client(): string | null {
    if (this.address === null && !this.isGone)
      this.address = clientAddress(remoteAddress(this.res), {
        forwardedFor: this.head.forwardedFor,
        trusted: this.context.trustedProxies,
      });
    return this.address;
  }
}
