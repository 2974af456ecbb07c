import { setTimeout as sleep } from 'node:timers/promises';
import { SourceRefusal } from './source-refusal.ts';

/** Where users are read: a server's Application API. */
export interface SourceOptions {
  url: string;
  key: string;
  tenant?: string | undefined;
  /** Requests a second at most. */
  perSecond: number;
  timeoutMs?: number;
  /** Pauses (ms) before what failed is tried again. */
  pausesMs?: readonly number[];
}

const TIMEOUT_MS = 30_000;
const PAUSES_MS = [500, 1_000, 2_000, 5_000, 10_000];
/** Longer than this nobody is waited for, whatever a header says. */
const LONGEST_PAUSE_MS = 120_000;
/** So often 429 is obeyed for one request: each time says when to come again. */
const MOST_REFUSED = 100;

/** Asks a source, one request after another in an even pace, slower where it says so. */
export class Source {
  private readonly options: SourceOptions;
  /** When the next request may be sent, epoch ms. */
  private nextMs = 0;
  requests = 0;

  constructor(options: SourceOptions) {
    this.options = options;
  }

  /** The answer's body. Throws SourceRefusal. `path` begins with `/v1`. */
  async ask(path: string): Promise<unknown> {
    const pausesMs = this.options.pausesMs ?? PAUSES_MS;
    let failed = 0;
    for (let refused = 0; ;) {
      await this.turn();
      const answer = await this.send(path);
      if (answer.status === 200) return answer.body;
      if (answer.status === 429 && refused++ < MOST_REFUSED) continue;
      const isAway = answer.status === 0 || answer.status >= 500;
      const pauseMs = isAway ? pausesMs[failed++] : undefined;
      if (pauseMs === undefined) throw new SourceRefusal(answer.why, answer.status);
      await sleep(pauseMs);
    }
  }

  /** Resolves when a request may be sent. */
  private async turn(): Promise<void> {
    const atMs = Math.max(Date.now(), this.nextMs);
    this.nextMs = atMs + 1000 / this.options.perSecond;
    await sleep(atMs - Date.now());
  }

  private async send(path: string): Promise<{ status: number; body?: unknown; why: string }> {
    const { url, key, tenant, timeoutMs = TIMEOUT_MS } = this.options;
    this.requests += 1;
    try {
      const response = await fetch(url.replace(/\/+$/, '') + path, {
        headers: { 'X-API-KEY': key, ...(tenant !== undefined && { 'Tenant-ID': tenant }) },
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await response.text();
      this.obey(response);
      const body = parsed(text);
      if (response.ok && body !== undefined) return { status: 200, body, why: '' };
      const error = (body as { error?: unknown } | undefined)?.error;
      const why = `${response.status}${typeof error === 'string' ? `: ${error}` : ''}`;
      // What is no JSON is no answer of such a server.
      return { status: response.ok ? 502 : response.status, why };
    } catch (error) {
      const { name, message } = error as Error;
      return { status: 0, why: name === 'TimeoutError' ? `no answer in ${timeoutMs / 1000} s` : message };
    }
  }

  /** Waits as long as the answer says: after a refusal, and where no request is left until a time. */
  private obey({ status, headers }: Response): void {
    const waitMs =
      status === 429
        ? (secondsMs(headers.get('retry-after')) ?? untilResetMs(headers) ?? 1000)
        : headers.get('x-ratelimit-remaining') === '0' || headers.get('ratelimit-remaining') === '0'
          ? untilResetMs(headers)
          : null;
    if (waitMs !== null) this.nextMs = Math.max(this.nextMs, Date.now() + Math.min(waitMs, LONGEST_PAUSE_MS));
  }
}

/** A header of seconds, or of an HTTP date. */
function secondsMs(text: string | null): number | null {
  if (text === null || text === '') return null;
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}

/** `X-RateLimit-Reset` is a time (epoch seconds), `RateLimit-Reset` seconds from now. */
function untilResetMs(headers: Headers): number | null {
  const atSeconds = Number(headers.get('x-ratelimit-reset') ?? Number.NaN);
  if (!Number.isNaN(atSeconds) && atSeconds > 0) return Math.max(0, atSeconds * 1000 - Date.now());
  return secondsMs(headers.get('ratelimit-reset'));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
