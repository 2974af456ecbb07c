import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../clock.ts';
import { shortened } from '../errors.ts';
import { parsedJson } from '../json.ts';
import { CommandError } from './command.ts';

export class SourceRefusal extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** The error that ends the command after a refusal that affects every request; `null` for other refusals. */
export function fatalRefusal({ status, message }: SourceRefusal): CommandError | null {
  if (status >= 300 && status < 400)
    return new CommandError(
      `The source redirects (${message}), and the key is sent nowhere else: --from must be the address of the API itself.`,
    );
  return status === 401 || status === 403
    ? new CommandError(`The source refuses the key (${message}): --from-key must be an admin key there.`)
    : null;
}

/** A server's Application API, from which users are read. */
interface SourceOptions {
  url: string;
  key: string;
  tenant?: string | undefined;
  /** Maximum number of requests per second; `undefined`: as many as the answers' headers allow. */
  perSecond?: number | undefined;
  timeoutMs?: number;
  /** Pauses (ms) before a failed request is repeated. */
  pausesMs?: readonly number[];
}

const TIMEOUT_MS = 30_000;
const PAUSES_MS = [500, 1_000, 2_000, 5_000, 10_000];
/** Maximum pause, whatever a header requests. */
const LONGEST_PAUSE_MS = 120_000;
/** The longest answers take about 100 KB. */
const MOST_BYTES = 16_777_216;
/** Maximum length of an error of the source that is shown. */
const WHY_LENGTH = 300;
/** Requests per second to a source without rate limit headers. */
const PER_SECOND = 5;

/** How often a request is repeated after 429, which says when to come again. */
const MOST_REFUSED = 100;

export interface SourceFlags {
  from: string;
  fromKey?: string;
  fromTenant?: string;
  rate?: number | undefined;
}

/** The address of a server, without the `/v1` that clients include. Ends the command if it is invalid. */
export function sourceAddress(from: string, option = '--from'): string {
  const url = URL.canParse(from) ? new URL(from) : null;
  // Before the address is shown, since it may contain a password.
  if (url !== null && url.username + url.password !== '')
    throw new CommandError(`${option} must not hold a user name or password: the key is sent in a header.`);
  if (url === null || !/^https?:/.test(from) || url.search + url.hash !== '')
    throw new CommandError(`${option} must be an address like https://api.example.org; it is "${from}".`);
  return from.replace(/\/+$/, '').replace(/\/v1$/, '');
}

/** The server that a command's options select. Ends the command if they select none. */
export function sourceOf({ from, fromKey, fromTenant, rate }: SourceFlags): Source {
  const url = sourceAddress(from);
  if (fromKey === undefined || fromKey === '')
    throw new CommandError('A key of the source is needed: set SOURCE_API_KEY, or --from-key.');
  return new Source({ url, key: fromKey, tenant: fromTenant, perSecond: rate });
}

/** Sends requests to a source one after another at an even pace, slower if the source asks for it. */
export class Source {
  private readonly options: SourceOptions;
  private nextMs = 0;
  private intervalMs: number;
  requests = 0;

  constructor(options: SourceOptions) {
    this.options = options;
    this.intervalMs = 1000 / (options.perSecond ?? PER_SECOND);
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

  private async turn(): Promise<void> {
    const atMs = Math.max(performance.now(), this.nextMs);
    this.nextMs = atMs + this.intervalMs;
    await sleep(atMs - performance.now());
  }

  private async send(path: string): Promise<{ status: number; body?: unknown; why: string }> {
    const { url, key, tenant, timeoutMs = TIMEOUT_MS } = this.options;
    this.requests += 1;
    try {
      const response = await fetch(url.replace(/\/+$/, '') + path, {
        headers: { 'X-API-KEY': key, ...(tenant !== undefined && { 'Tenant-ID': tenant }) },
        // A redirect could send the key elsewhere.
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
      });
      this.obey(response);
      const { status } = response;
      if (status >= 300 && status < 400) {
        await response.body?.cancel();
        return { status, why: `${status}: it redirects to ${plain(response.headers.get('location') ?? 'nowhere')}` };
      }
      const text = await boundedText(response);
      if (text === null) return { status: TOO_LARGE, why: `more than ${MOST_BYTES / 1_048_576} MiB` };
      const body = parsedJson(text);
      if (response.ok && body !== undefined) return { status: 200, body, why: '' };
      const error = (body as { error?: unknown } | undefined)?.error;
      const why = `${status}${typeof error === 'string' ? `: ${plain(error)}` : ''}`;
      // Such a server answers with JSON only.
      return { status: response.ok ? 502 : status, why };
    } catch (error) {
      const { name, message } = error as Error;
      return { status: 0, why: name === 'TimeoutError' ? `no answer in ${timeoutMs / 1000} s` : message };
    }
  }

  /** Waits as long as the answer asks for: after a refusal, or if no request is left until a certain time. */
  private obey({ status, headers }: Response): void {
    const waitMs =
      status === 429
        ? (secondsMs(headers.get('retry-after')) ?? untilResetMs(headers) ?? 1000)
        : headers.get('x-ratelimit-remaining') === '0' || headers.get('ratelimit-remaining') === '0'
          ? untilResetMs(headers)
          : null;
    if (this.options.perSecond === undefined) this.intervalMs = allowedIntervalMs(headers) ?? this.intervalMs;
    if (waitMs !== null) this.nextMs = Math.max(this.nextMs, performance.now() + Math.min(waitMs, LONGEST_PAUSE_MS));
  }
}

/** The status of the refusal of a too long answer. */
const TOO_LARGE = 413;

/** The body of an answer; `null` if it is too long. Counts unpacked bytes, since a short answer may unpack to a long one. */
async function boundedText({ body }: Response): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes > MOST_BYTES) return null;
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

export const plain = (text: string): string => shortened(text.replaceAll(/\p{Cc}+/gu, ' '), WHY_LENGTH);

/** A header with seconds or an HTTP date. */
function secondsMs(text: string | null): number | null {
  if (text === null || text === '') return null;
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - systemClock.now();
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}

/** `X-RateLimit-Reset` is a time (epoch seconds); `RateLimit-Reset` is seconds from now. */
function untilResetMs(headers: Headers): number | null {
  const atSeconds = Number(headers.get('x-ratelimit-reset') ?? Number.NaN);
  if (!Number.isNaN(atSeconds) && atSeconds > 0) return Math.max(0, atSeconds * 1000 - systemClock.now());
  return secondsMs(headers.get('ratelimit-reset'));
}

/** The pace that uses the rest of the limit by the time of its reset; `null` if the headers do not say. */
function allowedIntervalMs(headers: Headers): number | null {
  const remaining = Number(headers.get('x-ratelimit-remaining') ?? headers.get('ratelimit-remaining') ?? Number.NaN);
  const resetMs = untilResetMs(headers);
  if (!(remaining > 0) || resetMs === null) return null;
  return Math.min(resetMs, LONGEST_PAUSE_MS) / remaining;
}
