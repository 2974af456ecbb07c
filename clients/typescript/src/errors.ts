import type { ErrorCode } from './generated.ts';

/** Codes of errors that the client finds itself. */
export type ClientErrorCode =
  /** No answer: no connection, or it broke. The request may have been processed. */
  | 'network'
  /** No answer in time. The request may have been processed. */
  | 'timeout'
  /** The answer is not one of Laurel, such as the error page of a proxy. */
  | 'unexpected_answer'
  /** The client was called wrongly; `message` names the option. */
  | 'invalid_call'
  /** A webhook's signature or time is not valid. */
  | 'invalid_signature'
  /** A queue or batcher holds as many events as it may. */
  | 'queue_full'
  /** The idempotency key is in the queue with another event. */
  | 'idempotency_key_reused';

/** A failed call. Branch on `code`. */
export class LaurelError extends Error {
  override readonly name = 'LaurelError';
  /** A code of docs/errors.md, or of the client. There may be more codes later; treat one that you do not know as its status. */
  readonly code: ErrorCode | ClientErrorCode | (string & {});
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number;
  /** What may help, for a person. */
  readonly hint: string | undefined;
  /** ID of the request in Laurel's log. */
  readonly requestId: string | undefined;
  /** How long Laurel asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** With `insufficient_balance`: what the user can spend. */
  readonly balance: number | undefined;

  constructor(
    code: LaurelError['code'],
    message: string,
    details: {
      status?: number;
      hint?: string | undefined;
      requestId?: string | undefined;
      retryAfterMs?: number | undefined;
      balance?: number | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.status = details.status ?? 0;
    this.hint = details.hint;
    this.requestId = details.requestId;
    this.retryAfterMs = details.retryAfterMs;
    this.balance = details.balance;
  }

  /** Whether the same request may succeed later. It may already have been processed, so repeat it with the same idempotency key. */
  get isTransient(): boolean {
    const { code, status } = this;
    return code === 'network' || code === 'timeout' || status === 408 || status === 429 || status >= 500;
  }
}

/** The error of a call that is wrong before anything is sent. */
export const invalidCall = (message: string): LaurelError => new LaurelError('invalid_call', message);

/** Reports what the app has no callback for. */
export function warn(...about: unknown[]): void {
  // oxlint-disable-next-line no-console -- otherwise a mistake would have no effect that anybody sees
  console.warn('Laurel:', ...about);
}

/** Reports an error that the app has no callback for, unless the next attempt may succeed. */
export function warnUnlessTransient(error: unknown): void {
  if (!(error instanceof LaurelError && error.isTransient)) warn(error);
}

/** Reports what a listener of the app throws as uncaught, so that it ends nothing of the client. */
export function reportThrown(error: unknown): void {
  const { reportError } = globalThis as { reportError?: (error: unknown) => void };
  if (reportError !== undefined) reportError(error);
  else
    queueMicrotask(() => {
      throw error;
    });
}
