import { invalidCall, LaurelError } from './errors.ts';
import { validKey } from './idempotency-key.ts';

/** How to reach Laurel. */
export interface TransportOptions {
  /** Address of the Application API, such as `https://laurel.example.org`; in a browser also a path of the page's own site. */
  url: string | URL;
  /** Address of the Admin API: only on servers, for `events` and `createKey`. */
  adminUrl?: string | URL;
  /** An API key, or a function that gets one. It is called before the first request, and again after a 401. */
  key: string | (() => string | Promise<string>);
  /** The customer ID of a tenant, where there are several. */
  tenant?: string;
  /** Milliseconds that one attempt may take; `Infinity`: without a limit. Default: 10,000. */
  timeoutMs?: number;
  /** How often a failed request is repeated, with the same idempotency key. Default: 4. */
  retries?: number;
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch;
}

/** Options of each call. */
export interface CallOptions {
  /** Gives up; the call rejects with the signal's reason. */
  signal?: AbortSignal;
  timeoutMs?: number;
  retries?: number;
}

/** A call that changes something at most once for each key. */
export interface KeyedOptions extends CallOptions {
  /** By default random. Give your own to repeat the call later, such as the number of an order. At most 255 characters. */
  idempotencyKey?: string;
}

export interface Request {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/v1`, with encoded segments. */
  path: string;
  query?: object | undefined;
  body?: unknown;
  idempotencyKey?: string;
  /** Whether the Admin API has it. */
  admin?: boolean;
  /** False if it must not be repeated after an unknown outcome. */
  repeatable?: boolean;
}

export interface Transport {
  /** The address of the Application API, without `/v1`. */
  url: string;
  fetch: typeof globalThis.fetch;
  /** Resolves with the answer's JSON; with `undefined` if it has no content (204). Rejects with a `LaurelError`, or with the reason of the signal. */
  send: <T>(request: Request, options?: CallOptions) => Promise<T>;
}

const FIRST_BACKOFF_MS = 250;
const LONGEST_BACKOFF_MS = 8_000;
/** A longer `Retry-After` is left to the caller. */
const LONGEST_RETRY_AFTER_MS = 60_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Milliseconds before a repetition: doubles each time up to a limit, with jitter, and never less than Laurel asks for. */
export function backoffMs(attempt: number, { least = 0, most = LONGEST_BACKOFF_MS } = {}): number {
  return Math.max(least, Math.min(most, FIRST_BACKOFF_MS * 2 ** attempt) * (0.5 + Math.random() / 2));
}

/** Resolves after a time. Rejects with the signal's reason. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, ms);
    if (signal?.aborted) end();
    else signal?.addEventListener('abort', end, { once: true });
  });
}

/** The promise's result. Rejects when the signal is aborted before. */
const unlessAborted = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    promise.then(resolve, reject);
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
  });

/** The options of a call without those of the transport: its query or body. */
export function without<T extends CallOptions>(options: T): Omit<T, keyof CallOptions> {
  const { signal: _signal, timeoutMs: _timeoutMs, retries: _retries, ...rest } = options;
  return rest;
}

/** An address without `/v1`. Throws `invalid_call` if requests cannot be sent there. */
function base(name: 'url' | 'adminUrl', address: string | URL): string {
  const text = String(address);
  if (!/^https?:\/\/./i.test(text) && !(text.startsWith('/') && 'location' in globalThis))
    throw invalidCall(
      `${name}: '${text}' must begin with http:// or https://${text.startsWith('/') ? ' outside of a browser' : ''}.`,
    );
  return text.replace(/\/+$/, '').replace(/\/v1$/, '');
}

/** A path with encoded segments: `path('users', 'a/b')` is `/users/a%2Fb`. Throws `invalid_call` if an ID or key is missing. */
export function path(...segments: string[]): string {
  let text = '';
  for (const one of segments) {
    if (!one) throw invalidCall(`An ID or key is missing after ${text}/.`);
    text += `/${encodeURIComponent(one)}`;
  }
  return text;
}

/** Undefined and null values are left out; a list repeats its name. */
export function queryText(query: object = {}): string {
  const pairs = Object.entries(query as Record<string, unknown>).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((each) => each !== undefined && each !== null)
      .map((each) => `${encodeURIComponent(name)}=${encodeURIComponent(String(each))}`),
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

/** `Retry-After`: seconds, or a date. */
function retryAfterMs(headers: Headers): number | undefined {
  const text = headers.get('Retry-After');
  if (text === null) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Why there is no answer. `fetch` of Node says it in a cause, whose message can be empty. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } };
  return cause?.message || cause?.code || message || String(error);
}

function errorOf(response: Response, text: string): LaurelError {
  const { status, headers, redirected, url } = response;
  const details = {
    status,
    requestId: headers.get('X-Request-Id') ?? undefined,
    retryAfterMs: retryAfterMs(headers),
  };
  const body = parse(text) as { error?: string; code?: string; hint?: string; balance?: number } | null | undefined;
  // Most redirects turn a POST into a GET.
  const redirect = redirected ? `The request was redirected to ${url}: use its address for \`url\`.` : undefined;
  if (typeof body?.error !== 'string' || typeof body.code !== 'string')
    return new LaurelError('unexpected_answer', `${status} ${text.slice(0, 200)}`, { ...details, hint: redirect });
  return new LaurelError(body.code, body.error, { ...details, hint: redirect ?? body.hint, balance: body.balance });
}

/** The key. Throws `invalid_call` for anything else, such as `undefined` after a failed sign-in. */
function checkKey(key: unknown): string {
  if (typeof key !== 'string' || key === '') throw invalidCall('key: the function returned no key.');
  // Such as the page of a failed sign-in, or JSON with the key in it.
  if (/^[<{["]|\s/.test(key.trim()))
    throw invalidCall(`key: the text is no API key: it begins with ${key.trim()[0]} and has ${key.length} characters.`);
  if (/[^\x20-\x7e]/.test(key.trim())) throw invalidCall('key: an API key has only ASCII characters.');
  return key;
}

/** Sends requests, and repeats those that may succeed later. */
export function createTransport(options: TransportOptions): Transport {
  const { key, tenant } = options;
  if (!options.url) throw invalidCall('url: the address of the Application API is missing.');
  if (!key) throw invalidCall('key: an API key, or a function that gets one, is missing.');
  const url = base('url', options.url);
  const adminUrl = options.adminUrl && base('adminUrl', options.adminUrl);
  if (typeof key === 'string') checkKey(key);
  const fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  /** The key, or the running call that gets it, which simultaneous requests share: `waiting` is their number. */
  let cachedKey: { text: Promise<string>; waiting: number } | undefined;
  const getKey = async (): Promise<string> => {
    if (typeof key === 'string') return key;
    try {
      return checkKey(await key());
    } catch (cause) {
      if (cause instanceof LaurelError) throw cause;
      throw new LaurelError('network', `key: the function failed: ${reasonOf(cause)}`, { cause });
    }
  };

  /** Unless another request has already got the next one. */
  const forgetKey = (used: typeof cachedKey): void => {
    if (cachedKey === used) cachedKey = undefined;
  };

  /** The key, by a call that requests share. One that failed, takes too long, or that nobody waits for any longer is not kept. */
  async function keyFor(signal: AbortSignal, isLate: () => boolean) {
    const used = (cachedKey ??= { text: getKey(), waiting: 0 });
    used.waiting += 1;
    let isDone = false;
    try {
      void used.text.finally(() => (isDone = true)).catch(() => forgetKey(used));
      return { keyText: await unlessAborted(used.text, signal), keyUsed: used };
    } finally {
      used.waiting -= 1;
      if (!isDone && (used.waiting === 0 || isLate())) forgetKey(used);
    }
  }

  const addressOf = ({ admin, path: below, query }: Request): string => {
    if (admin && !adminUrl) throw invalidCall('adminUrl: this call needs the address of the Admin API.');
    return `${admin ? adminUrl! : url}/v1${below}${queryText(query)}`;
  };

  async function attempt(request: Request, { signal, timeoutMs = options.timeoutMs ?? 10_000 }: CallOptions) {
    const { method, body, idempotencyKey } = request;
    if (idempotencyKey !== undefined) validKey(idempotencyKey);
    const address = addressOf(request);
    const controller = new AbortController();
    const abort = (): void => controller.abort();
    let isLate = false;
    const end = (): void => {
      isLate = true;
      abort();
    };
    // A timer beyond this limit would end at once.
    const timer = timeoutMs > LONGEST_TIMER_MS ? undefined : setTimeout(end, timeoutMs);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      if (signal?.aborted) throw signal.reason;
      const { keyText, keyUsed } = await keyFor(controller.signal, () => isLate);
      const response = await fetch(address, {
        method,
        headers: {
          'X-API-KEY': keyText,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
          ...(tenant !== undefined && { 'Tenant-ID': tenant }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: controller.signal,
      });
      return { response, text: await response.text(), keyUsed };
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      if (cause instanceof LaurelError) throw cause;
      if (isLate) throw new LaurelError('timeout', `No answer within ${timeoutMs} ms.`, { cause });
      const [server] = address.split('/v1/');
      throw new LaurelError('network', `No answer from ${server}: ${reasonOf(cause)}`, { cause });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  async function once(request: Request, callOptions: CallOptions): Promise<unknown> {
    let { response, text, keyUsed } = await attempt(request, callOptions);
    if (response.status === 401 && typeof key === 'function') {
      forgetKey(keyUsed);
      ({ response, text, keyUsed } = await attempt(request, callOptions));
    }
    if (!response.ok) throw errorOf(response, text);
    if (response.status === 204) return undefined;
    const answer = parse(text);
    if (answer === undefined) {
      const { status } = response;
      throw new LaurelError('unexpected_answer', `${status} without JSON: ${text.slice(0, 200)}`, { status });
    }
    return answer;
  }

  async function send<T>(request: Request, callOptions: CallOptions = {}): Promise<T> {
    const { repeatable = true } = request;
    const retries = callOptions.retries ?? options.retries ?? 4;
    for (let attempts = 0; ; attempts += 1) {
      try {
        return (await once(request, callOptions)) as T;
      } catch (error) {
        if (!(error instanceof LaurelError) || attempts >= retries || !error.isTransient) throw error;
        // Only a 429 says that nothing was done.
        if (!repeatable && error.status !== 429) throw error;
        const least = error.retryAfterMs ?? 0;
        if (least > LONGEST_RETRY_AFTER_MS) throw error;
        await sleep(backoffMs(attempts, { least }), callOptions.signal);
      }
    }
  }

  return { url, fetch, send };
}
