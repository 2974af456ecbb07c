import { systemClock } from '../clock.ts';
import type { Author } from '../domain/administration/author.ts';
import { AppError } from '../errors.ts';
import { NOBODY, type Caller, type Operation } from '../operations/operation.ts';
import { clientAddress, networkOf, remoteAddress } from './client-address.ts';
import type { ExchangeContext } from './exchange-context.ts';
import { KeyRefusal } from './access/key-refusal.ts';
import type { RequestHead } from './request-head.ts';
import {
  cameByHttps,
  type PresentedSession,
  readSession,
  type SessionCookie,
  setCookie,
} from './access/session-auth.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

/** The author of calls that are not recorded in the audit log. */
export const UNRECORDED: Author = Object.freeze({ who: '' });

const NOT_BEARER = 'Send the key in the header X-API-KEY, without Bearer before it, instead of in Authorization.';

export class Sender {
  private readonly context: ExchangeContext;
  private readonly operation: Operation;
  private readonly res: HttpResponse;
  private readonly head: RequestHead;
  /** The session, if no key was sent. */
  private readonly session: PresentedSession | null = null;
  private readonly overHttps: boolean = false;
  private address: string | null = null;
  private isGone = false;

  /** Must be constructed while uWS still allows access to the request. */
  constructor(
    context: ExchangeContext,
    { operation, req, res, head }: { operation: Operation; req: HttpRequest; res: HttpResponse; head: RequestHead },
  ) {
    this.context = context;
    this.operation = operation;
    this.res = res;
    this.head = head;
    // Read now, because the connection may break while an audited operation runs.
    if (operation.audited) this.client();
    if (context.sessions === null) return;
    // A key takes precedence over a cookie that the browser adds.
    if (head.apiKey === null) this.session = readSession(req);
    this.overHttps = cameByHttps(req);
  }

  /** Call this when the connection breaks, after which its address is unavailable. */
  gone(): void {
    this.isGone = true;
  }

  /** Authenticates the request's key or session. Throws or rejects with KeyRefusal. */
  authenticated(): Caller | Promise<Caller> {
    const { context, session, head } = this;
    if (this.operation.scope === 'public') return NOBODY;
    if (session !== null) return context.sessions!.authenticate(session);
    if (head.apiKey === null && head.hasBearer) throw new KeyRefusal('missing', { prefix: null, hint: NOT_BEARER });
    return context.authenticate(head.apiKey);
  }

  author(caller: Caller, requestId: string): Author {
    return { who: caller.prefix, address: this.address, requestId };
  }

  cookie(session: SessionCookie): Record<string, string> {
    return { 'Set-Cookie': setCookie(session, { secure: this.overHttps, nowMs: systemClock.now() }) };
  }

  /** Converts a refused key to 429 if too many wrong keys came from the same network; returns other errors unchanged. */
  refused(error: unknown): unknown {
    const refusal = this.asRefusal(error);
    if (refusal === null) return error;
    const { onRefused, failedKeys } = this.context;
    onRefused?.(refusal, this.client());
    if (refusal.status !== 401 || refusal.reason === 'missing') return refusal;
    return failedKeys?.failed(this.network()) ?? refusal;
  }

  /** The network by which the sender's failed keys are counted; `null` if not counted or the connection is gone. */
  network(): string | null {
    if (this.isGone) return null;
    return networkOf(this.res, this.head.forwardedFor, this.context.trustedProxies);
  }

  /** In a sign-in operation, a 401 means that the body contained a wrong key. */
  private asRefusal(error: unknown): KeyRefusal | null {
    if (error instanceof KeyRefusal) return error;
    const isSignIn = this.operation.signsIn && error instanceof AppError && error.status === 401;
    return isSignIn ? new KeyRefusal('sign_in', { prefix: null, message: error.message }) : null;
  }

  private client(): string | null {
    if (this.address === null && !this.isGone)
      this.address = clientAddress(remoteAddress(this.res), {
        forwardedFor: this.head.forwardedFor,
        trusted: this.context.trustedProxies,
      });
    return this.address;
  }
}
