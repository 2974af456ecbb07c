import type { Span } from '@opentelemetry/api';
import { createHmac } from 'node:crypto';
import type { Agent } from 'undici';
import { systemClock } from '../../clock.ts';
import { targetProblem } from '../../catalog/rules/webhook.ts';
import { codeOf } from '../../network-errors.ts';
import { traceParent } from '../../telemetry/trace-parent.ts';
import type { Traces, WorkSpan } from '../../telemetry/traces.ts';
import { version } from '../../version.ts';
import { guardedAgent, type GuardOptions, TargetRefused } from './guarded-agent.ts';
import { post, unansweredText } from './guarded-post.ts';

/** The receiver of a message, and its secrets. */
export interface Target {
  url: string;
  /** Name of the header with the signature by the whole secret; default: `USUAL_HEADER`. */
  header?: string | undefined;
  secrets: readonly string[];
}

interface SentMessage {
  id: string;
  sequence: number;
  /** JSON text. */
  payload: string;
  tries: number;
}

/**
 * How a try ended. `delivered`: answered 2xx. `gone`: answered 410. `answered`: any other status except a redirect.
 * `unreachable`: no connection, or a broken one. `refused`: nothing was sent, because webhooks may not go to the address.
 */
const OUTCOMES = ['delivered', 'gone', 'redirected', 'answered', 'timed_out', 'unreachable', 'refused'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export interface Try {
  outcome: Outcome;
  /** When it began, in epoch ms of real time. */
  atMs: number;
  durationMs: number;
  /** `null` if there was no answer. */
  status: number | null;
  /** For users; `null` if delivered. */
  error: string | null;
  /** The start of the answer's body, at most 4 KiB. */
  answer: string | null;
  /** The delay that the receiver asked for; `null` if none. */
  retryAfterMs: number | null;
}

export interface SenderOptions extends GuardOptions {
  timeoutMs: number;
  /** Makes a span of each sampled try, which the receiver can continue; `null` turns spans off. */
  traces?: Traces | null | undefined;
}

const USUAL_HEADER = 'X-Laurel-Signature';
const GONE = 410;

export function createSender({ timeoutMs, traces = null, ...guard }: SenderOptions) {
  const userAgent = `Laurel/${version()}`;
  const allowPrivate: boolean = guard.allowPrivate;
  const agent: Agent = guardedAgent(guard);

  /** Tries once to send a message. Rejects only if `calledOff` aborts it. */
  async function send(target: Target, message: SentMessage, calledOff?: AbortSignal): Promise<Try> {
    calledOff?.throwIfAborted();
    const atMs = systemClock.now();
    const beganMs = performance.now();
    const span = traces === null ? null : traces.root(trySpan(target, message));
    const ended = new AbortController();
    const end = (): void => ended.abort();
    const timer = setTimeout(end, timeoutMs);
    calledOff?.addEventListener('abort', end);
    let result: Pick<Try, 'outcome' | 'status' | 'error' | 'answer' | 'retryAfterMs'>;
    try {
      result = await request(target, message, { atMs, span, signal: ended.signal });
    } catch (error) {
      if (calledOff?.aborted === true && span !== null) traces!.ended(span, 'called_off');
      calledOff?.throwIfAborted();
      result = { status: null, answer: null, retryAfterMs: null, ...failure(error, ended.signal.aborted) };
    } finally {
      clearTimeout(timer);
      calledOff?.removeEventListener('abort', end);
    }
    if (span !== null) {
      if (result.status !== null) span.setAttribute('http.response.status_code', result.status);
      traces!.ended(span, result.outcome === 'delivered' ? undefined : result.outcome);
    }
    return { ...result, atMs, durationMs: Math.round(performance.now() - beganMs) };
  }

  /** Closes all connections; requests in flight fail. */
  function close(): Promise<void> {
    return agent.destroy();
  }

  async function request(
    { url, header = USUAL_HEADER, secrets }: Target,
    { id, sequence, payload }: SentMessage,
    { atMs, span, signal }: { atMs: number; span: Span | null; signal: AbortSignal },
  ): Promise<Omit<Try, 'atMs' | 'durationMs'>> {
    const to = new URL(url);
    const problem = targetProblem(to, allowPrivate);
    if (problem !== null) throw new TargetRefused(`the URL ${problem}`);
    const timestamp = Math.floor(atMs / 1_000);
    const headers: Record<string, string> = {
      'Content-Type': 'application/json',
      'User-Agent': userAgent,
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': standardSignature(secrets, { id, timestamp, payload }),
      'webhook-sequence': String(sequence),
    };
    // Only for sampled tries: "not sampled" would keep the receiver from making spans of its own.
    if (span !== null) headers['traceparent'] = traceParent(span.spanContext());
    const [secret, previous] = secrets;
    if (secret !== undefined) headers[header] = bodySignature(secret, payload);
    if (previous !== undefined) headers[`${header}-Previous`] = bodySignature(previous, payload);
    const answered = await post(agent, { url: to, headers, body: payload, signal });
    return { ...judged(answered.status), ...answered };
  }

  function failure(error: unknown, timedOut: boolean): Pick<Try, 'outcome' | 'error'> {
    if (error instanceof TargetRefused) return { outcome: 'refused', error: error.message };
    if (timedOut) return { outcome: 'timed_out', error: `no answer within ${timeoutMs / 1_000} s` };
    const outcome = codeOf(error as Error) === 'UND_ERR_CONNECT_TIMEOUT' ? 'timed_out' : 'unreachable';
    return { outcome, error: unansweredText(error as Error) };
  }

  return { send, close };
}

export type Sender = ReturnType<typeof createSender>;

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

/** The signed parts: `timestamp` in seconds. */
interface Signed {
  id: string;
  timestamp: number;
  payload: string;
}

/** Base64 HMAC-SHA256 of the raw body, keyed with the secret's whole text. */
const bodySignature = (secret: string, payload: string): string => hmac(secret, payload);

/**
 * The header `webhook-signature` of Standard Webhooks 1.0, https://www.standardwebhooks.com: one entry for each secret,
 * keyed with the bytes that its Base64 encodes.
 */
function standardSignature(secrets: readonly string[], { id, timestamp, payload }: Signed): string {
  const text = `${id}.${timestamp}.${payload}`;
  return secrets.map((secret) => `v1,${hmac(Buffer.from(secret.slice(PREFIX.length), 'base64'), text)}`).join(' ');
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Delays between a failed try and the next one: the first after the first try, and so on. */
const STEPS_MS: readonly number[] = [
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  10 * HOUR_MS,
];

/** Random part of a delay, so that tries that failed together are not repeated together. */
const JITTER = 0.2;

/** A receiver may ask for up to this multiple of the delay. */
const PATIENCE = 2;

/**
 * The delay (ms) after the `failed`th failed try (from 1); `null` after the last one. `retryAfterMs`: the delay that
 * the receiver asked for, `null` if none; it is used if it is longer than the regular delay, up to twice that.
 * `random`: from 0 to 1.
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
