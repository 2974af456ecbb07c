/** Sends a message: signature, request, response, and when to retry. */
import type { Span } from '@opentelemetry/api';
import { createHmac } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Agent } from 'undici';
import { targetProblem } from '../../catalog/rules/webhook.ts';
import { codeOf } from '../../network-errors.ts';
import { traceParent } from '../../telemetry/trace-parent.ts';
import type { Traces, WorkSpan } from '../../telemetry/traces.ts';
import { version } from '../../version.ts';
import { guardedAgent, type GuardOptions, TargetRefused } from './guarded-agent.ts';

/** Where a message goes, and what signs it. */
export interface Target {
  url: string;
  /** Name of the header with the signature of the whole secret; undefined: the usual one. */
  header?: string | undefined;
  /** The last one first. */
  secrets: readonly string[];
}

/** What is sent. */
interface SentMessage {
  /** UUID, the same on every try. */
  id: string;
  sequence: number;
  /** JSON text. */
  payload: string;
  /** Tries that were recorded before this one. */
  tries: number;
}

/**
 * How a try ended. `delivered`: answered 2xx. `gone`: answered 410. `answered`: with any other status but a redirect.
 * `unreachable`: no connection, or one that broke. `refused`: nothing was sent, the address is none that webhooks may go to.
 */
const OUTCOMES = ['delivered', 'gone', 'redirected', 'answered', 'timed_out', 'unreachable', 'refused'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** A try. */
export interface Try {
  outcome: Outcome;
  /** When it began, epoch ms of real time. */
  atMs: number;
  durationMs: number;
  /** Null: no answer came. */
  status: number | null;
  /** For a person; null: delivered. */
  error: string | null;
  /** The beginning of the answer's body, at most 4 KiB. */
  answer: string | null;
  /** What the receiver asked for, null if nothing. */
  retryAfterMs: number | null;
}

export interface SenderOptions extends GuardOptions {
  /** How long a try may take, from the look-up of the name to the end of the answer. */
  timeoutMs: number;
  /** Makes a span of each try that is sampled, which the receiver can continue; null: none. */
  traces?: Traces | null | undefined;
}

/** What errors of connections mean, by code. */
const TEXTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection broke before an answer came',
  UND_ERR_SOCKET: 'the connection broke before an answer came',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too long',
  TOO_MANY_INTERIM: 'too many interim answers (1xx) came',
  ENOTFOUND: 'the name is not known',
  ENODATA: 'the name has no address',
};

/** Interim answers (103 and others) that are passed over: a receiver could send them for as long as a try lasts. */
const MOST_INTERIM = 10;

const USUAL_HEADER = 'X-Laurel-Signature';
const GONE = 410;

/** Sends messages to webhooks. */
export class Sender {
  private readonly agent: Agent;
  private readonly timeoutMs: number;
  private readonly allowPrivate: boolean;
  private readonly traces: Traces | null;
  private readonly userAgent = `Laurel/${version()}`;

  constructor({ timeoutMs, traces = null, ...guard }: SenderOptions) {
    this.timeoutMs = timeoutMs;
    this.traces = traces;
    this.allowPrivate = guard.allowPrivate;
    this.agent = guardedAgent(guard);
  }

  /**
   * Tries once to send a message. Never rejects, but with the reason of `calledOff` where that ends it. CPU: 0.15 ms with
   * one secret to a receiver on this machine.
   */
  async send(target: Target, message: SentMessage, calledOff?: AbortSignal): Promise<Try> {
    calledOff?.throwIfAborted();
    const atMs = Date.now();
    const beganMs = performance.now();
    const span = this.traces === null ? null : this.traces.root(trySpan(target, message));
    const ended = new AbortController();
    const end = (): void => ended.abort();
    const timer = setTimeout(end, this.timeoutMs);
    calledOff?.addEventListener('abort', end);
    let result: Pick<Try, 'outcome' | 'status' | 'error' | 'answer' | 'retryAfterMs'>;
    try {
      result = await this.request(target, message, { atMs, span, signal: ended.signal });
    } catch (error) {
      if (calledOff?.aborted === true && span !== null) this.traces!.ended(span, 'called_off');
      calledOff?.throwIfAborted();
      result = { status: null, answer: null, retryAfterMs: null, ...this.failure(error, ended.signal.aborted) };
    } finally {
      clearTimeout(timer);
      calledOff?.removeEventListener('abort', end);
    }
    if (span !== null) {
      if (result.status !== null) span.setAttribute('http.response.status_code', result.status);
      this.traces!.ended(span, result.outcome === 'delivered' ? undefined : result.outcome);
    }
    return { ...result, atMs, durationMs: Math.round(performance.now() - beganMs) };
  }

  /** Closes all connections; what is under way fails. */
  close(): Promise<void> {
    return this.agent.destroy();
  }

  private async request(
    { url, header = USUAL_HEADER, secrets }: Target,
    { id, sequence, payload }: SentMessage,
    { atMs, span, signal }: { atMs: number; span: Span | null; signal: AbortSignal },
  ): Promise<Omit<Try, 'atMs' | 'durationMs'>> {
    const to = new URL(url);
    const problem = targetProblem(to, { privateTargets: this.allowPrivate });
    if (problem !== null) throw new TargetRefused(`the URL ${problem}`);
    const timestamp = Math.floor(atMs / 1_000);
    const headers: Record<string, string> = {
      'Content-Type': 'application/json',
      'User-Agent': this.userAgent,
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': standardSignature(secrets, { id, timestamp, payload }),
      'webhook-sequence': String(sequence),
    };
    // Only of what is sampled: "not sampled" would have the receiver make no spans of its own.
    if (span !== null) headers['traceparent'] = traceParent(span.spanContext());
    const [secret, previous] = secrets;
    if (secret !== undefined) headers[header] = bodySignature(secret, payload);
    if (previous !== undefined) headers[`${header}-Previous`] = bodySignature(previous, payload);
    let interim = 0;
    const {
      statusCode: status,
      headers: answered,
      body,
    } = await this.agent.request({
      origin: to.origin,
      path: `${to.pathname}${to.search}`,
      method: 'POST',
      headers,
      body: payload,
      signal,
      onInfo: () => {
        interim += 1;
        if (interim > MOST_INTERIM) throw Object.assign(new Error('interim answers'), { code: 'TOO_MANY_INTERIM' });
      },
    });
    const answer = await readAnswer(body);
    const retryAfter = answered['retry-after'];
    return {
      ...judged(status),
      status,
      answer,
      retryAfterMs: parseRetryAfter(Array.isArray(retryAfter) ? retryAfter[0] : retryAfter, Date.now()),
    };
  }

  private failure(error: unknown, timedOut: boolean): Pick<Try, 'outcome' | 'error'> {
    if (error instanceof TargetRefused) return { outcome: 'refused', error: error.message };
    if (timedOut) return { outcome: 'timed_out', error: `no answer within ${this.timeoutMs / 1_000} s` };
    const code = codeOf(error as Error) ?? '';
    if (code === 'UND_ERR_CONNECT_TIMEOUT') return { outcome: 'timed_out', error: 'no connection within 10 s' };
    return { outcome: 'unreachable', error: TEXTS[code] ?? `no answer: ${code || (error as Error).message}` };
  }
}

/** The span of a try. Of the URL it says only the host: a path may be a secret. */
const trySpan = ({ url }: Target, { id, tries }: SentMessage): WorkSpan => ({
  name: 'webhook_delivery',
  isCall: true,
  attributes: () => ({
    'http.request.method': 'POST',
    'http.request.resend_count': tries,
    'server.address': URL.canParse(url) ? new URL(url).hostname : '',
    'laurel.message_id': id,
  }),
});

function judged(status: number): Pick<Try, 'outcome' | 'error'> {
  if (status >= 200 && status < 300) return { outcome: 'delivered', error: null };
  if (status >= 300 && status < 400)
    return { outcome: 'redirected', error: `answered ${status}: redirects are not followed` };
  return { outcome: status === GONE ? 'gone' : 'answered', error: `answered ${status}` };
}

const PREFIX = 'whsec_';

const hmac = (key: string | Buffer, text: string): string => createHmac('sha256', key).update(text).digest('base64');

/** What is signed: `timestamp` in seconds. */
interface Signed {
  id: string;
  timestamp: number;
  payload: string;
}

/** Base64 HMAC-SHA256 of the raw body, with the secret's whole text. */
const bodySignature = (secret: string, payload: string): string => hmac(secret, payload);

/**
 * The header `webhook-signature` of Standard Webhooks 1.0, https://www.standardwebhooks.com: one entry for each secret, with the
 * bytes that its Base64 stands for.
 */
function standardSignature(secrets: readonly string[], { id, timestamp, payload }: Signed): string {
  const text = `${id}.${timestamp}.${payload}`;
  return secrets.map((secret) => `v1,${hmac(Buffer.from(secret.slice(PREFIX.length), 'base64'), text)}`).join(' ');
}

/** What is kept of an answer. */
const KEPT_BYTES = 4_096;
/** An answer is read to its end, so that its connection serves the next message, unless it is longer than this. */
const READ_BYTES = 65_536;

/**
 * The beginning of an answer as text: its first 4 KiB, with U+FFFD for what is no UTF-8 and for NUL. Reads the rest of a short
 * one and closes the connection of a long one. What breaks in the middle, or is called off, counts as ended there.
 */
async function readAnswer(body: Readable): Promise<string> {
  const kept: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      if (bytes < KEPT_BYTES) kept.push(chunk.subarray(0, KEPT_BYTES - bytes));
      bytes += chunk.length;
      if (bytes > READ_BYTES) break;
    }
  } catch {
    // The status is there already, and it is what counts.
  }
  body.destroy();
  return Buffer.concat(kept).toString('utf8').replaceAll('\0', '\uFFFD');
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** How long after a failed try the next one is due: after the first try the first step, and so on. */
const STEPS_MS: readonly number[] = [
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  10 * HOUR_MS,
];

/** A step is lengthened or shortened by up to so much of it, so that what failed together does not come back together. */
const JITTER = 0.2;

/** A receiver may ask for up to so many times the step. */
const PATIENCE = 2;

/**
 * How long to wait after the `failed`th try (from 1) that failed, ms; null: it was the last one. `retryAfterMs`: what the receiver asked for, null
 * if nothing; it is honoured where it is longer than the step, up to twice the step. `random`: from 0 to 1.
 */
export function retryDelayMs(
  failed: number,
  { retryAfterMs, random }: { retryAfterMs: number | null; random: number },
): number | null {
  const stepMs = STEPS_MS[failed - 1];
  if (stepMs === undefined) return null;
  const ownMs = stepMs * (1 + JITTER * (2 * random - 1));
  return Math.round(Math.max(ownMs, Math.min(retryAfterMs ?? 0, PATIENCE * stepMs)));
}

/**
 * What a `Retry-After` header asks for, ms from now: seconds or a date (RFC 9110, 10.2.3). Null: nothing that can be read.
 * `nowMs`: real time, as the receiver's date is.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  // Dates of HTTP begin with the weekday: `Date.parse` takes much else for a date.
  const dateMs = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - nowMs);
}
